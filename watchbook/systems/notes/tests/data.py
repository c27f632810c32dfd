"""Small things that many tests of notes need."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from watchbook.base import clock
from watchbook.systems.notes import actions, store
from watchbook.systems.notes.cli import group
from watchbook.systems.notes.models import Candidate
from watchbook.systems.notes.store.candidates import FoundNote, store_found

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
KEY = "made-up-master-key-of-forty-characters-1"
SECOND_KEY = "another-made-up-master-key-of-forty-char-2"


def command(*words: str) -> None:
    """`watchbook notes …` in this process."""
    group.main(list(words), prog_name="watchbook notes", standalone_mode=False)


def note_id(number: int) -> str:
    return f"{0x68000000 + number:08x}{0:08x}{number:08x}"


def add_candidates(count: int, **values: Any) -> list[str]:
    ids = [note_id(number) for number in range(1, count + 1)]
    store_found([FoundNote(one, "xhs", **values) for one in ids], clock.now())
    return ids


def offer(*entries: Any) -> None:
    """These notes of the stand-in become candidates, with their tokens."""
    store_found(
        [FoundNote(e.note_id, "xhs", xsec_token=e.token, source_keyword="Lantern") for e in entries], clock.now()
    )


def holder(workflow: str = "collect") -> store.Holder:
    got = store.acquire(workflow, clock.now())
    assert got.locked
    return got.holder


def held(given: store.Holder) -> dict[str, Any]:
    return {"execution_id": given.execution_id, "fence": given.fence}


def result_of(number: str) -> dict[str, Any]:
    return {"note_id": number, "title": "A lantern", "content": "Lights along the river.", "tags": ["lantern"]}


def states() -> dict[str, str]:
    return dict(Candidate.objects.values_list("note_id", "status"))


def commit(given: store.Holder, number: str) -> dict[str, Any]:
    return actions.commit({**held(given), "note_id": number, "result": result_of(number)})
