"""The ledger: what the world truly did, beside what the installation kept and told. Read offline, after each scene."""

from __future__ import annotations

from tests.crash.installation import Installation
from tests.crash.ledger.archive import Archive
from tests.crash.ledger.notifications import Notices
from tests.crash.ledger.rows import check_rows
from tests.crash.report import Findings


class Ledger:
    """Reads on from where it stopped; a new one reads everything again."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.archives = [Archive(place, installation.monitors[place.number]) for place in installation.world.places]
        self.notices = Notices(installation)

    @property
    def duplicates(self) -> int:
        return self.notices.duplicates

    @property
    def changes(self) -> int:
        return sum(len(archive.changed) for archive in self.archives)

    @property
    def told(self) -> int:
        return self.notices.told

    def check(self) -> Findings:
        """Everything has settled before this is asked."""
        findings = Findings()
        for archive in self.archives:
            archive.read_on(findings)
        self.notices.read_on(findings)
        self.notices.compare(self.archives, findings)
        check_rows(self.archives, findings)
        return findings
