"""What can go wrong with a run.

JobTrouble
├── LeaseLost     somebody else holds the run now: stop at once, write nothing
├── Later         not now (a busy host, a pause asked for): back to the queue, no attempt is used up
└── GiveUp        it will not get better by trying again: failed, with a sentence for the reader
"""

from __future__ import annotations


class JobTrouble(Exception):
    pass


class LeaseLost(JobTrouble):
    pass


class Later(JobTrouble):
    def __init__(self, seconds: float, reason: str = "") -> None:
        super().__init__(reason or f"try again in {seconds:.0f} s")
        self.seconds = seconds


class GiveUp(JobTrouble):
    def __init__(self, message: str, code: str = "gave_up") -> None:
        super().__init__(message)
        self.code = code
