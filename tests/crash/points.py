"""Every crash point that this harness visits, and by which process it is reached."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALL = re.compile(r'crash_point\("([a-z_]+\.[a-z_.]+)"\)')

# Longest fitting beginning wins. A point that nothing here fits belongs to the tests of its package, which kill their
# own processes; a test checks that one of them names it.
REACHED_BY = {
    "job.": "worker",
    "job.taken_back": "beat",
    "sitemaps.": "worker",
    "outbox.": "worker",
    "slot.": "beat",
    "message.": "beat",
    "backup.": "backup",
    "restore.": "restore",
}
# Without a broker there are no messages to send.
NOT_EMBEDDED = ("message.",)
COMMANDS = ("backup", "restore")


def named_points() -> list[str]:
    """Every name in the product, in the order of the files that have them."""
    found: dict[str, None] = {}
    for path in sorted((ROOT / "watchbook").rglob("*.py")):
        if "tests" not in path.parts:
            found |= dict.fromkeys(CALL.findall(path.read_text(encoding="utf-8")))
    return list(found)


def all_points() -> list[str]:
    """Return those that this harness has to reach."""
    return [point for point in named_points() if reached_by(point)]


def package_points() -> list[str]:
    """Return those that the tests of a package have to reach."""
    return [point for point in named_points() if not reached_by(point)]


def reached_by(point: str) -> str | None:
    """The role of the process that visits it: worker, beat, or a command."""
    fitting = [start for start in REACHED_BY if point.startswith(start)]
    return REACHED_BY[max(fitting, key=len)] if fitting else None


def points_of(*, is_embedded: bool, commands: bool) -> list[str]:
    """What has to be visited on a engine."""
    return [
        point
        for point in all_points()
        if not (is_embedded and point.startswith(NOT_EMBEDDED)) and (commands or reached_by(point) not in COMMANDS)
    ]
