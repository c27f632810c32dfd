"""What a perfect archive would hold after exactly the answers that were given out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from standins.nga_board.served import Served, Shown

CHANGED, DELETED, FOLDED = "content_fingerprint_changed", "marked_deleted_by_source", "marked_folded_by_source"


@dataclass(frozen=True)
class Version:
    """A former state of a floor, and why it was left."""

    source: str
    reasons: str
    edited_at: int | None
    """The stamp of the edit that replaced it."""


@dataclass
class ArchivedFloor:
    now: Shown
    is_deleted: bool = False
    is_folded: bool = False
    versions: list[Version] = field(default_factory=list)
    absences: int = 0
    absent_in_run: int = -1

    @property
    def source(self) -> str:
        assert self.now.source is not None
        return self.now.source


Archive = dict[int, dict[int, ArchivedFloor]]


def expected_archive(given: Iterable[Served]) -> Archive:
    """{topic: {floor: state}}. Floors of notes are there once both their place and their text were shown."""
    archive: Archive = {}
    texts: dict[int, Shown] = {}
    for answer in given:
        if answer.kind == "topic":
            _Reading(archive.setdefault(answer.ident, {}), texts, answer).read()
    return archive


class _Reading:
    def __init__(self, floors: dict[int, ArchivedFloor], texts: dict[int, Shown], answer: Served) -> None:
        self.floors = floors
        self.texts = texts
        self.answer = answer

    def read(self) -> None:
        self.texts.update({note.pid: note for note in self.answer.notes})
        for one in self.answer.floors:
            self._take(one)
        for note in self.answer.notes:
            if note.lou in self.floors:
                self._take(note)
        seen = {one.lou for one in self.answer.floors}
        for lou in self.answer.expected:
            if lou not in seen and lou in self.floors:
                self._miss(self.floors[lou])

    def _take(self, one: Shown) -> None:
        known = self.floors.get(one.lou)
        if one.source is None:
            text = self.texts.get(one.pid)
            if text is None and known is None:
                return
            one = text if text is not None else replace(one, source=known.source if known else None)
        if known is None:
            self.floors[one.lou] = ArchivedFloor(one, one.is_deleted, one.is_folded)
        else:
            _compare(known, one)

    def _miss(self, known: ArchivedFloor) -> None:
        """Absent from a page that was whole: once is chance, in two runs it is gone."""
        if known.absent_in_run == self.answer.run:
            return
        known.absences, known.absent_in_run = known.absences + 1, self.answer.run
        if known.absences >= 2 and not known.is_deleted:
            known.versions.append(Version(known.source, DELETED, None))
            known.is_deleted = True


def _compare(known: ArchivedFloor, one: Shown) -> None:
    # A deleted post may come without its text; what was read before is kept.
    source = known.source if one.is_deleted and not one.source else one.source
    reasons = [
        reason
        for reason, holds in (
            (CHANGED, (source, one.subject, one.files) != (known.source, known.now.subject, known.now.files)),
            (DELETED, one.is_deleted and not known.is_deleted),
            (FOLDED, one.is_folded and not known.is_folded),
        )
        if holds
    ]
    if reasons:
        known.versions.append(Version(known.source, ";".join(reasons), one.edited_at))
    known.now = replace(one, source=source)
    known.is_deleted, known.is_folded = one.is_deleted, one.is_folded
    known.absences, known.absent_in_run = 0, -1
