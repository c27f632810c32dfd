"""The commands `watchbook sitemaps check`, `run-due` and `export`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, with_json, with_now


@click.group("sitemaps")
def group() -> None:
    """Monitor sitemaps."""


@group.command()
@click.argument("url")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the result to a file.")
@click.option(
    "--against", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Compare with a saved result."
)
@with_json
def check(url: str, save: Path | None, against: Path | None, as_json: bool) -> None:
    """Check a sitemap once and show its URL count, problems and changes since a saved result."""
    from watchbook.systems.sitemaps.jobs import read  # after Django is set up

    with failing_as(as_json), tempfile.TemporaryDirectory(prefix="watchbook-check-") as folder:
        try:
            result = read.check(url, Path(folder), against=against, save=save)
        except read.CheckError as error:
            raise Failure(error.message, error.code) from None
        answer(result, _lines(result), as_json=as_json)


@group.command("run-due")
@with_now
@with_json
def run_due(now: datetime | None, as_json: bool) -> None:
    """Check all due monitors and send pending notifications."""
    from watchbook.systems.sitemaps.jobs.check import run_due_now  # after Django is set up

    with clock.set_to(now) if now else nullcontext():
        tally = run_due_now(clock.now())
    answer(tally, [f"{name}: {count}" for name, count in tally.items()], as_json=as_json)


@group.command()
@click.argument("monitor")
@click.option("--snapshot", help="ID of a snapshot; default is the current one.")
def export(monitor: str, snapshot: str | None) -> None:
    """Write all URLs of a snapshot as JSON lines."""
    from django.core.exceptions import ValidationError  # a small command must start fast

    from watchbook.base.store.folder import scratch
    from watchbook.systems.sitemaps.models import MonitorTask, SitemapSnapshot
    from watchbook.systems.sitemaps.store.lists import snapshot_urls

    try:
        found = MonitorTask.objects.live().get(pk=monitor)
        wanted = SitemapSnapshot.objects.get(pk=snapshot, monitor_task=found) if snapshot else found.current_snapshot
    except (MonitorTask.DoesNotExist, SitemapSnapshot.DoesNotExist, ValidationError):
        raise Failure("There is no such monitor or snapshot.", "unknown") from None
    if wanted is None:
        raise Failure("The monitor has no snapshot yet.", "no_snapshot")
    with scratch("export") as folder:
        for row in snapshot_urls(wanted, folder):
            click.echo(json.dumps(row, ensure_ascii=False))


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield f"{result['url']}: {result['kind']}, {result['url_count']:,} URLs, " + (
        "complete" if result["complete"] else "incomplete"
    )
    yield f"hash {result['url_hash']}"
    for note in result["notes"]:
        yield f"  problem: {note}"
    for part in result["parts"]:
        yield f"  {part['outcome']:12} {part['url_count']:>9,}  {part['url']}"
    for kind, sign in (("added", "+"), ("removed", "-"), ("unconfirmed", "?"), ("modified", "~")):
        for item in result.get(kind, [])[:100]:
            yield f"{sign} {item['url']}"
