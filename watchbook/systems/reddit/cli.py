"""The commands `watchbook reddit crawl`, `tiers`, `load-pool`, `add`, `remove`, `comments`, `import` and `metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, Progress, answer, failing_as, table, with_json, with_now

JOBS = {"incremental": "reddit.incremental", "batch": "reddit.batch", "low-quality": "reddit.low_quality"}
PRIORITIES = ("high", "medium", "low")


@click.group("reddit")
def group() -> None:
    """Crawl Reddit communities."""


@group.command()
@click.argument("community", required=False)
@click.option("--mode", type=click.Choice(list(JOBS)), default="incremental", help="Kind of crawl.")
@click.option("--force", is_flag=True, help="Crawl all active communities, also those that are not due.")
@with_now
@with_json
def crawl(community: str | None, mode: str, force: bool, now: datetime | None, as_json: bool) -> None:
    """Crawl one community, or all due communities."""
    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        result = _crawl(community, mode, force)
        answer(result, _lines(result), as_json=as_json)


def _crawl(community: str | None, mode: str, force: bool) -> dict[str, Any]:
    from watchbook.core.jobs.cli import run_or_fail
    from watchbook.core.jobs.runner import run_now  # after Django is set up
    from watchbook.systems.reddit import options

    if not options.is_live():
        raise Failure("REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET are not set. Reddit is not crawled.", "not_configured")
    name, args = JOBS[mode], {"detailed": True, **({"community": community} if community else {})}
    if force and mode == "incremental":
        args["force"] = True
    if community and mode == "incremental":
        run = run_or_fail(
            lambda: run_now("reddit.community", {"community": community}, exclusive=f"reddit:{community}")
        )
    else:
        run = run_or_fail(lambda: run_now(name, args, exclusive=f"job:{name}"))
    return {"communities": run.progress.get("communities", []), "http_request_count": run.http_request_count}


@group.command()
@click.option("--apply", "applies", is_flag=True, help="Save the tiers.")
@with_now
@with_json
def tiers(applies: bool, now: datetime | None, as_json: bool) -> None:
    """List the communities of each tier."""
    from watchbook.systems.reddit import actions  # after Django is set up

    with clock.set_to(now) if now else nullcontext():
        found = actions.assignments()
        if applies:
            actions.apply_tiers()
    answer(found, [f"{tier}: {len(names)}  {' '.join(names[:20])}" for tier, names in found.items()], as_json=as_json)


@group.command("load-pool")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--sample", is_flag=True, help="Import the 200 sample communities.")
@with_json
def load_pool(file: Path | None, sample: bool, as_json: bool) -> None:
    """Import communities from a JSON or CSV file. Existing communities are updated, none are removed."""
    from watchbook.systems.reddit import actions  # after Django is set up
    from watchbook.systems.reddit.pool import SAMPLE, InvalidPoolFile

    chosen = SAMPLE if sample else file
    if chosen is None:
        raise click.UsageError("Give a file or --sample.")
    with failing_as(as_json):
        try:
            tally = actions.load_pool(chosen)
        except (InvalidPoolFile, OSError) as error:
            raise Failure(str(error), "wrong_pool") from None
        counts = [f"{name}: {count}" for name, count in tally.items() if name != "notes"]
        answer(tally, [*counts, *tally.get("notes", [])], as_json=as_json)


@group.command()
@click.argument("community")
@click.option("--priority", type=click.Choice(PRIORITIES), default="medium", help="How often it is crawled.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--comments/--no-comments", default=None, help="Crawl the comments. Without it: as REDDIT_COMMENTS says.")
@with_json
def add(community: str, priority: str, tags: tuple[str, ...], comments: bool | None, as_json: bool) -> None:
    """Add one community by name or address."""
    from watchbook.systems.reddit import actions  # after Django is set up
    from watchbook.systems.reddit.actions.comments import set_comments

    with failing_as(as_json):
        row = actions.add_community(community, priority=priority, tags=tags)
        if comments is not None:
            set_comments(row.community_name, comments)
        answer(
            {"community": row.community_name, "next_due": row.next_due.isoformat()},
            [f"{row.community_name} added, crawled at least every {row.crawl_frequency_hours} h"],
            as_json=as_json,
        )


@group.command()
@click.argument("community")
@with_json
def remove(community: str, as_json: bool) -> None:
    """Remove one community from the list. Its stored posts are kept."""
    from watchbook.systems.reddit import actions  # after Django is set up

    with failing_as(as_json):
        try:
            kept = actions.remove_community(community)
        except actions.Unknown:
            raise Failure(f"{community} is not in the list.", "unknown_community") from None
        answer({"removed": community, "posts_kept": kept}, [f"{community} removed, {kept} posts kept"], as_json=as_json)


@group.command()
@click.argument("community")
@click.argument("switch", type=click.Choice(["on", "off", "default"]))
@with_json
def comments(community: str, switch: str, as_json: bool) -> None:
    """Crawl the comments of one community or not. default: as REDDIT_COMMENTS says."""
    from watchbook.systems.reddit import actions  # after Django is set up
    from watchbook.systems.reddit.actions import comments as threads

    with failing_as(as_json):
        try:
            row = threads.set_comments(community, {"on": True, "off": False, "default": None}[switch])
        except actions.Unknown:
            raise Failure(f"{community} is not in the list.", "unknown_community") from None
        is_on = threads.is_crawled(threads.listing_of(row))
        words = "are crawled" if is_on else "are not crawled"
        answer({"community": row.community_name, "comments": is_on}, [f"Comments of {row} {words}."], as_json=as_json)


@group.command("erase-author")
@click.argument("author")
@click.option("--reason", default="", help="For the audit log.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_json
def erase_author(author: str, reason: str, yes: bool, as_json: bool) -> None:
    """Erase all posts and comments of an author, and store nothing of the author again."""
    from watchbook.systems.reddit.actions import authors  # after Django is set up

    with failing_as(as_json):
        found = authors.written_by(author)
        if not yes:
            click.confirm(f"Erase {found.posts} posts and {found.comments} comments permanently?", abort=True, err=True)
        gone = authors.erase_author(author, reason=reason)
        answer(asdict(gone), [f"{gone.posts} posts and {gone.comments} comments erased."], as_json=as_json)


@group.command("allow-author")
@click.argument("author")
@with_json
def allow_author(author: str, as_json: bool) -> None:
    """Store posts and comments of an erased author again."""
    from watchbook.systems.reddit.actions import authors  # after Django is set up

    with failing_as(as_json):
        if not authors.allow_author(author):
            raise Failure("This author was not erased.", "not_erased")
        answer({"allowed": True}, ["The author is stored again."], as_json=as_json)


@group.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--community", default="", help="Import only this community; else all communities of the list.")
@click.option("--max-window", type=click.IntRange(1, 2048), default=2048, help="Most megabytes of a zstd window.")
@click.option("--skipped", type=click.Path(path_type=Path, dir_okay=False), help="Write line and reason to this file.")
@with_json
def import_file(file: Path, community: str, max_window: int, skipped: Path | None, as_json: bool) -> None:
    """Import posts or comments from a dump (.zst or JSON Lines). An interrupted import continues where it ended."""
    from watchbook.systems.reddit.actions.imports import import_dump  # after Django is set up
    from watchbook.systems.reddit.parse.dumps import UnreadableDump
    from watchbook.systems.reddit.store.imports import ImportInterrupted

    progress = Progress()
    with failing_as(as_json), skipped.open("a", encoding="utf-8") if skipped else nullcontext() as listed:
        try:
            row = import_dump(
                file, community=community, window_megabytes=max_window, progress=progress,
                skipped=lambda line, reason: listed.write(f"{line}\t{reason}\n") if listed else None,
            )  # fmt: skip
        except UnreadableDump as error:
            raise Failure(f"{file.name} cannot be read: {error}.", "unreadable_dump") from None
        except ImportInterrupted:
            raise Failure("Another process imports this file.", "import_running") from None
        finally:
            progress.end()
        names = ("lines", "new", "updated", "unchanged", "versions", "skipped")
        figures = {name: getattr(row, name) for name in names}
        reasons = [f"skipped, {reason}: {count}" for reason, count in sorted(row.skipped.items())]
        answer(figures, [*(f"{name}: {figures[name]}" for name in names[:-1]), *reasons], as_json=as_json)


@group.command()
@click.option("--hours", type=click.IntRange(1, 24 * 60), default=24, help="Number of hours to list.")
@with_json
def metrics(hours: int, as_json: bool) -> None:
    """List new posts, requests and failures per hour."""
    from watchbook.systems.reddit import actions  # after Django is set up
    from watchbook.systems.reddit.api import metrics_out

    rows = [metrics_out(row) for row in actions.hours(hours)]
    columns = (
        "metric_date",
        "metric_hour",
        "requests",
        "total_new_posts",
        "total_updated_posts",
        "failed_crawls",
        "gaps",
    )
    answer({"metrics": rows}, table([[row[name] for name in columns] for row in rows], columns), as_json=as_json)


def _lines(result: dict[str, Any]) -> Iterator[str]:
    rows = [
        [line["community"], listing, line["outcome"], line[f"new_{listing}"], line[f"updated_{listing}"],
         line["duplicates"], line["http_request_count"], "possible gap" if line["possible_gap"] else ""]
        for line in result["communities"]
        for listing in [line.get("listing", "posts")]
    ]  # fmt: skip
    yield from table(rows, ("COMMUNITY", "LISTING", "OUTCOME", "NEW", "UPDATED", "SAME", "REQUESTS", ""))
    yield f"{len({row[0] for row in rows})} communities, {result['http_request_count']} requests"
