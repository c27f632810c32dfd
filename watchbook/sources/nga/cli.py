"""`watchbook nga`: reading saved answers of the forum."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from watchbook.base.terminal import answer, with_json

if TYPE_CHECKING:
    from watchbook.sources.nga.parse import ListPage, TopicPage, Unreadable
    from watchbook.sources.nga.parse.notes import Note

TOPIC_FIELDS = (
    "tid fid title author_name author_source_user_id thread_created_at last_reply_at reply_count_display is_pinned"
    " is_digest"
)
FLOOR_FIELDS = (
    "floor_number source_post_id author_name author_source_user_id post_created_at source_edited_at content_html"
    " is_deleted_by_source is_folded_by_source"
)


@click.group("nga")
def group() -> None:
    """Archive NGA boards."""


@group.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@with_json
def parse(file: Path, as_json: bool) -> None:
    """Read a saved list or topic answer: records, or the site's refusal. Needs no database."""
    from watchbook.sources.nga.parse import ListPage, Refused, Unreadable, read_answer  # loads the HTML cleaner
    from watchbook.sources.nga.parse.decode import LARGEST

    try:
        with file.open("rb") as opened:
            page = read_answer(opened.read(LARGEST + 1))
        found = _list(page) if isinstance(page, ListPage) else _topic(page)
    except Unreadable as error:
        found = _error(error)
        answer(found, _lines(found), as_json=as_json)
        # A refusal was read and understood; anything else was not.
        raise SystemExit(0 if isinstance(error, Refused) else 1) from None
    answer(found, _lines(found), as_json=as_json)


def _list(page: ListPage) -> dict[str, Any]:
    rows = [_fields(topic, TOPIC_FIELDS) for topic in page.topics]
    for row in rows:
        # An answer does not always say it; a reader of records wants yes or no.
        row |= {"is_pinned": bool(row["is_pinned"]), "is_digest": bool(row["is_digest"])}
    return {"kind": "list", "topics": rows, "denied_count": page.denied_count, "notes": _notes(page.notes)}


def _topic(page: TopicPage) -> dict[str, Any]:
    return {
        "kind": "topic",
        "tid": page.tid,
        "title": page.title,
        "total_floors": page.total_floors,
        "page_number": page.page_number,
        "floors": [_fields(floor, FLOOR_FIELDS) for floor in page.floors],
        "floors_without_text": [stub.floor_number for stub in page.stubs],
        "notes": _notes(page.notes),
    }


def _notes(notes: tuple[Note, ...]) -> list[dict[str, Any]]:
    return [{"code": note.code, "message": note.message} for note in notes]


def _error(error: Unreadable) -> dict[str, Any]:
    # The site's own number, or our word when it is not the site that failed.
    code = getattr(error, "site_code", error.code)
    return {"kind": "error", "error": {"code": code, "message": error.message, "reason": error.code}}


def _fields(record: Any, names: str) -> dict[str, Any]:
    found = {name: getattr(record, name) for name in names.split()}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in found.items()}


def _lines(found: dict[str, Any]) -> Iterator[str]:
    if found["kind"] == "error":
        yield "{reason}: {message}".format(**found["error"])
    elif found["kind"] == "list":
        for topic in found["topics"]:
            yield f"{topic['tid']:>10}  {topic['reply_count_display']:>6}  {topic['title']}  ({topic['author_name']})"
    else:
        yield f"{found['tid']}: {found['title']}, {found['total_floors']:,} floors"
        for floor in found["floors"]:
            yield f"{floor['floor_number']:>6}  {floor['post_created_at']}  {floor['author_name']}"
    for note in found.get("notes", []):
        yield f"  note: {note['message']}"
