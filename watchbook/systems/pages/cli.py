"""`watchbook pages`."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, with_json, with_now


@click.group("pages")
def group() -> None:
    """Read the pages of websites and keep their versions."""


@group.command("list")
@with_json
def list_sites(as_json: bool) -> None:
    """List the websites with their state and counts."""
    from watchbook.systems.pages.filters import completeness  # after Django is set up
    from watchbook.systems.pages.health import site_health
    from watchbook.systems.pages.models import Site

    now = clock.now()
    rows = [
        {"id": site.pk, "name": site.name, "mode": site.mode, "state": site_health(site, now).state,
         **{name: count for name, count in completeness(site, now).items() if isinstance(count, int)}}
        for site in Site.objects.live().order_by("name", "pk")
    ]  # fmt: skip
    lines = [f"{row['id']}  {row['name']}  {row['state']}  {row['read']} of {row['known']} read" for row in rows]
    answer({"sites": rows}, lines, as_json=as_json)


@group.command("add")
@click.argument("email")
@click.argument("url")
@click.option("--every", "minutes", default=1440, help="Minutes between two looks.")
@with_json
def add(email: str, url: str, minutes: int, as_json: bool) -> None:
    """Watch a single address for the user with this e-mail address."""
    from watchbook.core.accounts.models import User  # after Django is set up
    from watchbook.systems.pages import actions

    with failing_as(as_json):
        user = User.objects.filter(email=email).first()
        if user is None:
            raise Failure(f"There is no user with the e-mail address {email}.", "unknown_user")
        page = actions.add_page(user, url, interval_minutes=minutes)
        answer({"id": page.pk}, [f"Added {page.url}."], as_json=as_json)


@group.command("run-due")
@with_now
@with_json
def run_due(now: datetime | None, as_json: bool) -> None:
    """Read all due pages now."""
    from watchbook.systems.pages.jobs.read import run_due_now  # after Django is set up

    with clock.set_to(now) if now else nullcontext():
        tally = run_due_now()
    answer(tally, [f"{count} {name}" for name, count in tally.items()], as_json=as_json)


@group.command("recount")
@click.option("--check", is_flag=True, help="Only compare; correct nothing.")
@with_json
def recount(check: bool, as_json: bool) -> None:
    """Compare the counters of pages with the pages, and correct them."""
    from watchbook.systems.pages.models import Site  # after Django is set up
    from watchbook.systems.pages.store import counts

    with failing_as(as_json):
        sites = Site.objects.live().defer("boilerplate", "robots").order_by("pk")
        wrong = {site.pk: found for site in sites if (found := counts.recount(site, repair=not check))}
        if wrong and check:
            raise Failure(f"The counters of {len(wrong)} websites differ from their pages.", "counters_differ")
        lines = [f"Website {pk}: {len(names)} counters corrected." for pk, names in wrong.items()]
        answer({"corrected": {str(pk): len(names) for pk, names in wrong.items()}},
               lines or ["All counters are right."], as_json=as_json)  # fmt: skip


@group.command("read")
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@with_json
def read(path: Path, as_json: bool) -> None:
    """Read a saved HTML file and show its fields and main text."""
    from watchbook.base import sandbox  # only where it is used
    from watchbook.systems.pages.fetch import CPU_SECONDS, MEMORY_MB, READ_TASK

    with failing_as(as_json):
        try:
            told = sandbox.call(
                READ_TASK, {"charset": "", "is_plain": False}, input_path=path, cpu_seconds=CPU_SECONDS,
                memory_mb=MEMORY_MB,
            )  # fmt: skip
        except sandbox.TaskError as error:
            raise Failure(error.message, error.code) from None
        lines = [f"{name}: {value}" for name, value in told["fields"].items()]
        answer(told, [*lines, "", told["text"]], as_json=as_json)
