"""What can go wrong with a backup.

BackupTrouble          the message is one sentence for the operator
|-- CannotTake         nothing was written; make room, or give another path
|-- Damaged            the file is not a whole backup; take another one
`-- CannotRestore      the backup is good, this installation is not fit for it; the sentence says why
"""

from __future__ import annotations


class BackupTrouble(Exception):
    pass


class CannotTake(BackupTrouble):
    pass


class Damaged(BackupTrouble):
    pass


class CannotRestore(BackupTrouble):
    pass
