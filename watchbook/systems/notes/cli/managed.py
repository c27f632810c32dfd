"""`watchbook notes keywords` and `watchbook notes candidates`: what people manage."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, table, with_json, with_now
from watchbook.systems.notes.cli import as_failures

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)
SORTS = ("general", "time_descending", "popularity_descending", "comment_descending", "collect_descending")
MOST_LISTED = 500


def with_search(command: F) -> F:
    """The options of a keyword; what is not given stays as it is."""
    for option in (
        click.option("--sort", type=click.Choice(SORTS), help="Order of the search on the platform."),
        click.option("--type", "note_type", type=click.Choice(("all", "normal", "video")), help="Type of the notes."),
        click.option(
            "--time-range", type=click.Choice(("any", "day", "week", "half_year")), help="When notes were published."
        ),
        click.option("--every", "every_minutes", type=click.IntRange(5, 43_200), help="Minutes between searches."),
    ):
        command = option(command)
    return command


def with_list(command: F) -> F:
    """The options of a list: a file instead of lines."""
    for option in (
        click.option("--output", type=FILE, help="Write the whole list to this file: .csv, .jsonl or .xlsx."),
        click.option("--limit", type=click.IntRange(1, MOST_LISTED), default=50, show_default=True, help="Rows shown."),
    ):
        command = option(command)
    return command


def show_list(name: str, shown: Any, fields: tuple[str, ...], output: Path | None, limit: int, as_json: bool) -> None:
    """Print the first rows of a list, or write the whole list to a file. Unknown filters are refused by name."""
    if shown.wrong:
        raise Failure(f"Unknown value of: {', '.join(shown.wrong)}.", "INVALID_INPUT")
    if output is not None:
        rows = write_file(shown, output)
        answer({"file": str(output), "rows": rows}, [f"{output}: {rows} rows"], as_json=as_json)
        return
    by = f"{'' if shown.order.is_rising else '-'}{shown.order.by}"
    found = [{field: getattr(row, field) for field in fields} for row in shown.rows.order_by(by, "-pk")[:limit]]
    answer({name: found}, table([[row[field] for field in fields] for row in found], fields), as_json=as_json)


def write_file(shown: Any, output: Path) -> int:
    from watchbook.kit.lists import FORMATS  # after Django is set up
    from watchbook.kit.lists.exports import respond

    form = output.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise Failure(f"The name of the file must end in one of: {', '.join(FORMATS)}.", "INVALID_INPUT")
    rows = shown.rows.count()
    with output.open("wb") as file:
        for piece in respond(shown.table, form):
            file.write(piece)
    return int(rows)


@click.group()
def keywords() -> None:
    """Manage the keywords that find candidates."""


KEYWORD_FIELDS = (
    "id", "keyword", "platform", "is_active", "sort", "note_type", "time_range", "every_minutes", "last_search_at",
    "next_search_at", "found_count", "last_error",
)  # fmt: skip


@keywords.command("add")
@click.argument("words", nargs=-1, required=True)
@with_search
@with_json
def add_keywords(words: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Add keywords. Quote keywords that contain spaces."""
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    values = {name: value for name, value in given.items() if value is not None}
    with as_failures(as_json):
        made = [actions.add_keyword(word, **values) for word in words]
    shown = [{"keyword": keyword.keyword, "added": is_new} for keyword, is_new in made]
    lines = [f"{row['keyword']}: {'added' if row['added'] else 'known'}" for row in shown]
    answer({"keywords": shown}, lines, as_json=as_json)


@keywords.command("list")
@click.option("--q", default="", help="Words of the keyword.")
@click.option("--state", default="", help="active, failing or paused.")
@with_list
@with_json
def list_keywords(q: str, state: str, output: Path | None, limit: int, as_json: bool) -> None:
    """Every keyword, when it was searched, and what it found."""
    from watchbook.systems.notes import filters  # after Django is set up
    from watchbook.systems.notes.models import Keyword

    with failing_as(as_json):
        shown = filters.KEYWORDS.show(Keyword.objects.all(), {"q": q, "state": state})
        show_list("keywords", shown, KEYWORD_FIELDS, output, limit, as_json)


@keywords.command("set")
@click.argument("keyword")
@with_search
@click.option("--every-default", is_flag=True, help="Search as often as set for this server.")
@with_json
def set_keyword(keyword: str, every_default: bool, as_json: bool, **given: Any) -> None:
    """Change how a keyword is searched. KEYWORD is its text or its number."""
    values = {name: value for name, value in given.items() if value is not None}
    _change(keyword, values | ({"every_minutes": None} if every_default else {}), as_json)


@keywords.command("pause")
@click.argument("keyword")
@with_json
def pause_keyword(keyword: str, as_json: bool) -> None:
    """Pause a keyword: it is not searched until you resume it."""
    _change(keyword, {"is_active": False}, as_json)


@keywords.command("resume")
@click.argument("keyword")
@with_json
def resume_keyword(keyword: str, as_json: bool) -> None:
    """Resume a paused keyword."""
    _change(keyword, {"is_active": True}, as_json)


def _change(keyword: str, values: dict[str, Any], as_json: bool) -> None:
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    with as_failures(as_json):
        row = actions.find_keyword(keyword)
        changed = actions.change_keyword(row, values)
    words = f"{row.keyword}: {', '.join(changed)} changed" if changed else f"{row.keyword}: no change"
    answer({"keyword": row.keyword, "changed": changed}, [words], as_json=as_json)


@keywords.command("delete")
@click.argument("keyword")
@with_json
def delete_keyword(keyword: str, as_json: bool) -> None:
    """Delete a keyword. Candidates and notes that it found are kept."""
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    with as_failures(as_json):
        row = actions.find_keyword(keyword)
        actions.delete_keyword(row)
    answer({"keyword": row.keyword, "deleted": True}, [f"{row.keyword}: deleted"], as_json=as_json)


@keywords.command("search")
@with_now
@with_json
def search_keywords(now: datetime | None, as_json: bool) -> None:
    """Search every keyword that is due, here and now."""
    from watchbook.core.jobs.cli import run_or_fail
    from watchbook.core.jobs.runner import run_now  # after Django is set up

    with as_failures(as_json), clock.set_to(now):
        run = run_or_fail(lambda: run_now("notes.search"))
    found = {"keywords": 0, "added": 0, "failed": 0, **run.progress, "outcome": run.outcome or run.state}
    answer(found, [f"{name}: {value}" for name, value in found.items()], as_json=as_json)


@click.group()
def candidates() -> None:
    """Manage candidates: notes that were found and are not collected yet."""


CANDIDATE_FIELDS = ("note_id", "status", "title", "source_keyword", "retry_count", "last_error_code", "created_at")


@candidates.command("add")
@click.argument("text", nargs=-1)
@with_json
def add_candidates(text: tuple[str, ...], as_json: bool) -> None:
    """Add notes by share text, link, short link or ID. Without TEXT they are read from standard input."""
    from watchbook.systems.notes.actions.paste import add_pasted  # after Django is set up

    with as_failures(as_json):
        found = add_pasted("\n".join(text) if text else sys.stdin.read())
    lines = [f"line {one.line}: {one.action} {one.note_id or one.message}" for one in found.results]
    answer(found.as_json(), lines, as_json=as_json)
    if len(found.refused) == len(found.results):
        raise SystemExit(1)


@candidates.command("list")
@click.option("--q", default="", help="Words of the title, or a full ID.")
@click.option("--status", default="", help="pending, processing, collected or failed.")
@click.option("--keyword", default="", help="Keyword that found them.")
@click.option("--creator", default="", help="Number of the creator that they are of.")
@with_list
@with_json
def list_candidates(output: Path | None, limit: int, as_json: bool, **asked: str) -> None:
    """List candidates, newest first."""
    from watchbook.systems.notes import filters  # after Django is set up
    from watchbook.systems.notes.models import Candidate

    with failing_as(as_json):
        shown = filters.CANDIDATES.show(Candidate.objects.all(), asked)
        show_list("candidates", shown, CANDIDATE_FIELDS, output, limit, as_json)


@candidates.command("retry")
@click.argument("note_ids", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="All failed candidates.")
@with_json
def retry_candidates(note_ids: tuple[str, ...], is_all: bool, as_json: bool) -> None:
    """Make failed candidates pending again with 0 attempts."""
    from watchbook.systems.notes import actions  # after Django is set up

    with failing_as(as_json):
        if bool(note_ids) == is_all:
            raise Failure("Name note IDs, or use --all.", "INVALID_INPUT")
        retried = actions.retry_failed(None if is_all else note_ids)
    answer({"retried": retried}, [f"retried: {retried}"], as_json=as_json)
