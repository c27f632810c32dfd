"""`watchbook reddit`: crawl, tiers, pool, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, table, with_json, with_now

JOBS = {"incremental": "reddit.incremental", "batch": "reddit.batch", "low-quality": "reddit.low_quality"}


@click.group("reddit")
def group() -> None:
    """Watch Reddit communities."""


@group.command()
@click.argument("community", required=False)
@click.option("--mode", type=click.Choice(list(JOBS)), default="incremental", help="Which crawl.")
@click.option("--force", is_flag=True, help="All active communities, due or not.")
@with_now
@with_json
def crawl(community: str | None, mode: str, force: bool, now: datetime | None, as_json: bool) -> None:
    """Visit one community, or every one that is due."""
    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        result = _crawl(community, mode, force)
        answer(result, _lines(result), as_json=as_json)


def _crawl(community: str | None, mode: str, force: bool) -> dict[str, Any]:
    from watchbook.core.jobs import runner  # after Django is set up
    from watchbook.core.jobs.errors import GiveUp
    from watchbook.core.jobs.models import State
    from watchbook.sources.reddit import options

    if not options.is_live():
        raise Failure("REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET are not set: nothing is fetched.", "not_configured")
    name, args = JOBS[mode], {"detailed": True, **({"community": community} if community else {})}
    if force and mode == "incremental":
        args["force"] = True
    try:
        if community and mode == "incremental":
            run = runner.run_now("reddit.community", {"community": community}, exclusive=f"reddit:{community}")
        else:
            run = runner.run_now(name, args, exclusive=f"job:{name}")
    except GiveUp as error:
        raise Failure(str(error), error.code) from None
    if run.state != State.DONE:
        raise Failure(run.error or "The crawl did not end.", run.error_code or "failed")
    return {"communities": run.progress.get("communities", []), "http_request_count": run.http_request_count}


@group.command()
@click.option("--apply", "applies", is_flag=True, help="Write the tiers.")
@with_now
@with_json
def tiers(applies: bool, now: datetime | None, as_json: bool) -> None:
    """Which community belongs to which tier."""
    from watchbook.sources.reddit import actions  # after Django is set up

    with clock.set_to(now) if now else nullcontext():
        found = actions.assignments()
        if applies:
            actions.apply_tiers()
    answer(found, [f"{tier}: {len(names)}  {' '.join(names[:20])}" for tier, names in found.items()], as_json=as_json)


@group.command("load-pool")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@click.option("--sample", is_flag=True, help="The 200 communities that ship with the program.")
@with_json
def load_pool(file: Path | None, sample: bool, as_json: bool) -> None:
    """Add and change communities from a JSON or CSV file; none is removed."""
    from watchbook.sources.reddit import actions  # after Django is set up
    from watchbook.sources.reddit.pool import SAMPLE, WrongPool

    chosen = SAMPLE if sample else file
    if chosen is None:
        raise click.UsageError("Name a file, or give --sample.")
    with failing_as(as_json):
        try:
            tally = actions.load_pool(chosen)
        except (WrongPool, OSError) as error:
            raise Failure(str(error), "wrong_pool") from None
        answer(tally, [f"{name}: {count}" for name, count in tally.items()], as_json=as_json)


@group.command()
@click.option("--hours", type=click.IntRange(1, 24 * 60), default=24, help="How many hours that were measured.")
@with_json
def metrics(hours: int, as_json: bool) -> None:
    """What crawling found and cost, hour by hour."""
    from watchbook.sources.reddit import actions  # after Django is set up
    from watchbook.sources.reddit.api.shapes import metrics_out

    rows = [metrics_out(row) for row in actions.hours(hours)]
    head = ("metric_date", "metric_hour", "requests", "total_new_posts", "total_updated_posts", "failed_crawls", "gaps")
    answer({"metrics": rows}, table([[row[name] for name in head] for row in rows], head), as_json=as_json)


def _lines(result: dict[str, Any]) -> Iterator[str]:
    rows = [
        [line["community"], line["outcome"], line["new_posts"], line["updated_posts"], line["duplicates"],
         line["http_request_count"], "possible gap" if line["possible_gap"] else ""]
        for line in result["communities"]
    ]  # fmt: skip
    yield from table(rows, ("COMMUNITY", "OUTCOME", "NEW", "UPDATED", "SAME", "REQUESTS", ""))
    yield f"{len(rows)} communities, {result['http_request_count']} requests"
