"""Topics by their last reply, a piece at a time. Those whose last reply the source never told come after all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watchbook.core.cursors import BadPlace, as_text, as_value, beyond, read_place, write_place
from watchbook.sources.nga.models.forum import Thread, ThreadQuerySet

# The list has two stages, each in the order of its own column: databases disagree where a NULL stands, and an index
# serves each of the two.
TOLD, UNTOLD = "told", "untold"
STAGES = {TOLD: "last_reply_at", UNTOLD: "thread_created_at"}


@dataclass(frozen=True)
class Piece:
    """Topics, and the places of the pieces beside them; an empty place: there is none."""

    items: Sequence[Thread]
    newer: str = ""
    older: str = ""


def by_reply(rows: ThreadQuerySet, *, size: int, older: str = "", newer: str = "") -> Piece:
    """The newest topics, those after the place `older`, or those before the place `newer`. May raise BadPlace."""
    if newer:
        found = _beside(rows, _open(newer), size + 1, is_backwards=False)
        # A first page that is not full would look as if rows were lost: show the true first page.
        if len(found) > size:
            shown = found[:size][::-1]
            return Piece(shown, newer=place_of(shown[0]), older=place_of(shown[-1]))
    found = _beside(rows, _open(older) if older else None, size + 1, is_backwards=True)
    shown = found[:size]
    return Piece(
        shown,
        newer=place_of(shown[0]) if older and shown else "",
        older=place_of(shown[-1]) if len(found) > size else "",
    )


def _beside(rows: ThreadQuerySet, place: tuple[str, Any, Any] | None, most: int, *, is_backwards: bool) -> list[Thread]:
    """What follows a place down the list, or up the list; from the end of one stage into the other."""
    stages = list(STAGES) if is_backwards else list(STAGES)[::-1]
    sign = "-" if is_backwards else ""
    found: list[Thread] = []
    for stage in stages[stages.index(place[0]) :] if place else stages:
        column = STAGES[stage]
        part = rows.filter(last_reply_at__isnull=stage == UNTOLD).order_by(f"{sign}{column}", f"{sign}pk")
        if place and stage == place[0]:
            part = part.filter(beyond(column, place[1], "pk", place[2], is_backwards=is_backwards))
        found += part[: most - len(found)]
        if len(found) >= most:
            break
    return found


def place_of(thread: Thread) -> str:
    stage = UNTOLD if thread.last_reply_at is None else TOLD
    return write_place([stage, as_text(getattr(thread, STAGES[stage])), as_text(thread.pk)])


def _open(place: str) -> tuple[str, Any, Any]:
    stage, value, key = read_place(place, 3)
    if stage not in STAGES:
        raise BadPlace
    meta = Thread._meta
    return stage, as_value(meta.get_field(STAGES[stage]), value), as_value(meta.pk, key)
