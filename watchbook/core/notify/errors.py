"""What can go wrong when a person sets up a channel.

    NotifyTrouble
    ├── BadConfig        a field cannot be used as given: change it (`field` and `message` say which and why)
    ├── Unreadable       the sealed part cannot be opened with the present key: enter the secrets again
    ├── TooManyTests     the test button was pressed too often: wait
    └── NotReplayable    only a notice whose fate is decided can be sent again

Errors of sending are no exceptions: a try ends in a `senders.Result`.
"""

from __future__ import annotations


class NotifyTrouble(Exception):
    code = "notify"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadConfig(NotifyTrouble):
    code = "bad_config"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Unreadable(NotifyTrouble):
    code = "sealed"


class TooManyTests(NotifyTrouble):
    code = "too_many_tests"


class NotReplayable(NotifyTrouble):
    code = "not_replayable"
