"""`watchbook nga`: crawl a board, look for gaps, read one topic, add a board, read saved answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, with_json, with_now

if TYPE_CHECKING:
    from watchbook.core.jobs.models import JobRun
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
MOST_PAGES_BY_HAND = 1000


@click.group("nga")
def group() -> None:
    """Archive NGA boards."""


@group.command()
@click.option("--fid", type=int, default=7, show_default=True, help="Number of the board.")
@with_now
@with_json
def crawl(fid: int, now: datetime | None, as_json: bool) -> None:
    """Look through a board's list and read every topic that changed."""
    from watchbook.sources.nga import actions  # after Django is set up

    _run(lambda: actions.crawl_now(fid), now, as_json)


@group.command()
@click.option("--repair", is_flag=True, help="Fetch the pages that hold missing floors.")
@with_now
@with_json
def audit(repair: bool, now: datetime | None, as_json: bool) -> None:
    """Compare what is stored with what should be, floor by floor."""
    from watchbook.sources.nga import actions  # after Django is set up

    # Floors that remain missing are what an audit is there to tell: no failure.
    _run(lambda: actions.audit_now(repair=repair), now, as_json)


@group.command()
@click.argument("tid", type=click.IntRange(1, 2**63 - 1))
@click.option("--pages", metavar="A-B", help="Only these pages; the topic's own place stays where it is.")
@with_now
@with_json
def thread(tid: int, pages: str | None, now: datetime | None, as_json: bool) -> None:
    """Read one topic of the archive now, without a page limit."""
    from watchbook.sources.nga import actions  # after Django is set up

    chosen = _pages(pages)
    _run(lambda: actions.read_now(tid, chosen), now, as_json)


@group.group()
def forums() -> None:
    """Boards that are archived."""


@forums.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("fid", type=int)
@click.argument("name")
@with_json
def add_forum(fid: int, name: str, as_json: bool) -> None:
    """Archive one more board. Numbers of boards may be negative."""
    from watchbook.sources.nga import actions  # after Django is set up

    with failing_as(as_json):
        try:
            forum = actions.add_forum(fid, name)
        except actions.WrongForum as wrong:
            raise Failure(wrong.message, wrong.code) from None
        found = {"id": forum.pk, "fid": forum.source_forum_id, "name": forum.forum_name}
        answer(found, [f"{forum.source_forum_id}: {forum}"], as_json=as_json)


@group.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@with_json
def parse(file: Path, as_json: bool) -> None:
    """Read a saved list or topic answer: records, or the site's refusal. Needs no database."""
    from watchbook.sources.nga.parse import ListPage, Refused, Unreadable
    from watchbook.sources.nga.parse.answer import read_answer  # loads the HTML cleaner
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


def _run(start: Callable[[], JobRun], now: datetime | None, as_json: bool) -> None:
    """Do a job here and print its figures. What ended in trouble is printed all the same, with exit code 1."""
    from watchbook.core.jobs.errors import GiveUp  # after Django is set up

    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        try:
            run = start()
        except GiveUp as error:
            raise Failure(str(error), error.code) from None
        if run.state != "done":
            raise Failure(run.error or "The run did not end.", run.error_code or run.state)
        figures = run.progress
        answer(figures, [f"{name}: {value}" for name, value in figures.items()], as_json=as_json)
        if "error" in figures:
            raise SystemExit(1)


def _pages(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip(), re.ASCII)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last or last - first >= MOST_PAGES_BY_HAND:
        raise click.BadParameter("expected pages such as 2-5", param_hint="--pages")
    return first, last


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
