"""What every scene is given: the processes, the installation, the ledger, and the figures to be filled in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.crash.engines import Backing, Engine
from tests.crash.installation import Installation
from tests.crash.ledger import Ledger
from tests.crash.processes import Processes
from tests.crash.report import Result

SETTLE_SECONDS = 90.0
SAID = 8


@dataclass
class Stage:
    engine: Engine
    backing: Backing
    processes: Processes
    installation: Installation
    ledger: Ledger
    result: Result
    random: Random
    say: Callable[[str], None]
    is_quick: bool = False

    def settle(self, scene: str) -> bool:
        """Let everything come to rest with all processes up, and read the ledger on. True when it is clean."""
        self.processes.fill()
        stuck = self.installation.settle(SETTLE_SECONDS)
        self.result.findings.stuck += [f"{scene}: {entry}" for entry in stuck]
        found = self.ledger.check()
        self.result.findings.add(found, scene)
        sentences = [*stuck, *found.sentences()]
        for sentence in sentences[:SAID]:
            self.say(f"{scene}: {sentence}")
        if len(sentences) > SAID:
            self.say(f"{scene}: and {len(sentences) - SAID} more")
        return not sentences

    def read_anew(self, scene: str) -> None:
        """The whole ledger from its first line, with nothing remembered."""
        ledger = Ledger(self.installation)
        found = ledger.check()
        self.result.findings.add(found, f"{scene}, read anew")
        self.result.duplicates, self.result.changes, self.result.told = ledger.duplicates, ledger.changes, ledger.told
        self.ledger = ledger

    def run(self, scene: str, play: Callable[[Stage], str]) -> None:
        """One scene from its first process to its last line."""
        began = time.monotonic()
        before = self.result.findings.count
        said = play(self)
        self.settle(scene)
        self.read_anew(scene)
        found = self.result.findings.count - before
        verdict = "clean" if not found else f"{found} FINDINGS"
        self.say(f"{scene}: {said}; {verdict}, {time.monotonic() - began:.0f} s")
