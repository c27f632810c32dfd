"""`watchbook nga`: crawl boards, audit, crawl one topic, add a board, parse saved responses."""

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
    from watchbook.systems.nga.parse import ListPage, TopicPage, Unreadable
    from watchbook.systems.nga.parse.errors import Note

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
@click.option("--fid", type=int, default=7, show_default=True, help="Board number.")
@with_now
@with_json
def crawl(fid: int, now: datetime | None, as_json: bool) -> None:
    """Crawl the topic list of a board and every topic that changed."""
    from watchbook.systems.nga import actions  # after Django is set up

    _run(lambda: actions.crawl_now(fid), now, as_json)


@group.command()
@click.option("--repair", is_flag=True, help="Fetch the missing posts.")
@with_now
@with_json
def audit(repair: bool, now: datetime | None, as_json: bool) -> None:
    """Find missing posts in stored topics."""
    from watchbook.systems.nga import actions  # after Django is set up

    # Posts that stay missing are a result of the audit, not a failure of the command.
    _run(lambda: actions.audit_now(repair=repair), now, as_json)


@group.command()
@click.argument("tid", metavar="TID")
@click.option("--pages", metavar="A-B", help="Only these pages; the backfill position does not change.")
@click.option("--follow", is_flag=True, help="Check the topic for new posts until it is quiet.")
@with_now
@with_json
def thread(tid: str, pages: str | None, follow: bool, now: datetime | None, as_json: bool) -> None:
    """Crawl one topic now, without a page limit. TID is a number or an address; its board need not be archived."""
    from watchbook.systems.nga import actions  # after Django is set up

    chosen = _pages(pages)
    try:
        number = actions.topic_number(tid)
    except actions.InvalidTopic as wrong:
        raise click.BadParameter(wrong.message, param_hint="TID") from None
    _run(lambda: actions.read_now(number, chosen, follow=follow), now, as_json)


@group.command()
@click.argument("uid", metavar="UID")
@click.option("--past", is_flag=True, help="Archive the older topics that the site lists, too.")
@click.option("--end", is_flag=True, help="End following the author.")
@with_json
def author(uid: str, past: bool, end: bool, as_json: bool) -> None:
    """Follow an author: new topics and replies are archived, in whichever board. UID is a number or an address."""
    from watchbook.systems.nga import actions  # after Django is set up

    try:
        number = actions.author_number(uid)
    except actions.InvalidAuthor as wrong:
        raise click.BadParameter(wrong.message, param_hint="UID") from None
    with failing_as(as_json):
        if end and not actions.unfollow_author(number):
            raise Failure(f"Author {number} is not followed.", "not_found")
        if not end:
            actions.follow_author(uid, with_past=past)
        answer(
            {"uid": number, "is_followed": not end}, [f"{number}: {'ended' if end else 'followed'}"], as_json=as_json
        )


@group.command()
@click.argument("tid", metavar="TID", required=False)
@click.option("--fid", type=int, help="All topics of a board, as a zip.")
@click.option("--form", type=click.Choice(["html", "markdown", "epub", "jsonl"]), default="html", show_default=True)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@with_json
def export(tid: str | None, fid: int | None, form: str, output: Path, as_json: bool) -> None:
    """Write a stored topic, or every topic of a board, to a file. TID is a number or an address."""
    if (tid is None) == (fid is None):
        raise click.UsageError("Give a topic or --fid.")
    with failing_as(as_json):
        written = _export_topic(tid, form, output) if tid else _export_board(fid or 0, form, output)
        answer(written, [f"{name}: {value}" for name, value in written.items()], as_json=as_json)


def _export_topic(tid: str, form: str, output: Path) -> dict[str, Any]:
    from watchbook.systems.nga import actions  # after Django is set up
    from watchbook.systems.nga.export.files import FORMS
    from watchbook.systems.nga.models import Thread

    try:
        number = actions.topic_number(tid)
    except actions.InvalidTopic as wrong:
        raise click.BadParameter(wrong.message, param_hint="TID") from None
    found = Thread.objects.numbered(number, None).select_related("forum").first()
    if found is None:
        raise Failure(f"Topic {number} is not in the archive.", "not_found")
    written = FORMS[form].write(found, output)
    return {"file": str(output), "posts": written.posts, "missing": written.missing, "pictures": written.pictures}


def _export_board(fid: int, form: str, output: Path) -> dict[str, Any]:
    from watchbook.systems.nga.export.responses import zip_pieces  # after Django is set up
    from watchbook.systems.nga.models import Forum

    board = Forum.objects.filter(source_forum_id=fid).first()
    if board is None:
        raise Failure(f"Board {fid} is not in the archive.", "not_found")
    threads = board.threads.select_related("forum").order_by("pk").iterator(chunk_size=200)
    with output.open("wb") as out:
        for piece in zip_pieces(threads, form, most=None, about={"fid": fid}):
            out.write(piece)
    return {"file": str(output), "topics": board.threads.count()}


@group.group()
def forums() -> None:
    """Archived boards."""


@forums.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("fid", type=int)
@click.argument("name")
@with_json
def add_forum(fid: int, name: str, as_json: bool) -> None:
    """Add a board to the archive. Board numbers can be negative."""
    from watchbook.systems.nga import actions  # after Django is set up

    with failing_as(as_json):
        forum = actions.add_forum(fid, name)
        found = {"id": forum.pk, "fid": forum.source_forum_id, "name": forum.forum_name}
        answer(found, [f"{forum.source_forum_id}: {forum}"], as_json=as_json)


@group.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@with_json
def parse(file: Path, as_json: bool) -> None:
    """Parse a saved list or topic response and print records or the error. Needs no database."""
    from watchbook.systems.nga.parse import ListPage, Refused, Unreadable
    from watchbook.systems.nga.parse.answer import (
        LARGEST,
        read_answer,  # loads the HTML cleaner
    )

    try:
        with file.open("rb") as opened:
            page = read_answer(opened.read(LARGEST + 1))
        found = _list(page) if isinstance(page, ListPage) else _topic(page)
    except Unreadable as error:
        found = _error(error)
        answer(found, _lines(found), as_json=as_json)
        # A refusal of the site is a readable response; anything else is a failure.
        raise SystemExit(0 if isinstance(error, Refused) else 1) from None
    answer(found, _lines(found), as_json=as_json)


def _run(start: Callable[[], JobRun], now: datetime | None, as_json: bool) -> None:
    """Run a job in this process and print its figures; exit code 1 if it reports an error."""
    from watchbook.core.jobs.cli import run_or_fail  # after Django is set up

    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        run = run_or_fail(start)
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
        # Some responses do not say it; the output always has true or false.
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
    # The site's own error number, or our code when the response is not an error page.
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
        yield f"{found['tid']}: {found['title']}, {found['total_floors']:,} posts"
        for floor in found["floors"]:
            yield f"{floor['floor_number']:>6}  {floor['post_created_at']}  {floor['author_name']}"
    for note in found.get("notes", []):
        yield f"  note: {note['message']}"
