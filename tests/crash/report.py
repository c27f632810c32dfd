"""What is counted on one engine, and how it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Findings:
    """Everything that should be empty. Each entry is a sentence."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Findings, scene: str = "") -> None:
        for name, mine in vars(self).items():
            mine += [f"{scene}: {entry}" if scene else entry for entry in vars(other)[name]]

    @property
    def count(self) -> int:
        return sum(map(len, vars(self).values()))

    def sentences(self) -> list[str]:
        return [f"{name}: {entry}" for name, entries in vars(self).items() for entry in entries]


@dataclass
class Result:
    """One engine, from its first process to its last."""

    engine: str
    findings: Findings = field(default_factory=Findings)
    points: list[str] = field(default_factory=list)
    visited: list[str] = field(default_factory=list)
    crashes: int = 0
    kills: int = 0
    slots: int = 0
    stale_refused: int = 0
    duplicates: int = 0
    changes: int = 0
    told: int = 0
    seconds: float = 0.0

    @property
    def missed(self) -> list[str]:
        return [point for point in self.points if point not in self.visited]

    @property
    def is_clean(self) -> bool:
        return not self.findings.count and not self.missed

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        return cls(**{**data, "findings": Findings(**data["findings"])})


HEAD = (
    "engine", "points", "crashes", "kills", "changes", "told", "lost", "doubled effects", "stale writes accepted",
    "stale refused", "stuck", "wrong", "runs per slot", "duplicates sent", "seconds",
)  # fmt: skip


def table(results: Sequence[Result]) -> list[str]:
    """One line for each engine."""
    rows = [HEAD, *(_row(result) for result in results)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(result: Result) -> tuple[str, ...]:
    found = result.findings
    per_slot = "-" if not result.slots else f"1 in all {result.slots}"
    if any("slot" in entry for entry in found.doubled):
        per_slot = "MORE THAN 1"
    counts = (found.lost, found.doubled, found.stale)
    return (
        result.engine, f"{len(result.points) - len(result.missed)}/{len(result.points)}", str(result.crashes),
        str(result.kills), str(result.changes), str(result.told), *(str(len(entries)) for entries in counts),
        str(result.stale_refused), str(len(found.stuck)), str(len(found.wrong)), per_slot, str(result.duplicates),
        f"{result.seconds:.0f}",
    )  # fmt: skip
