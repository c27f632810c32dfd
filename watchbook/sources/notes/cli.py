"""`watchbook notes`: collect, recover, keywords, cookies, security audit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, Progress, answer, failing_as, table, with_json, with_now

PLACE = click.Path(path_type=Path, exists=True)


@click.group("notes")
def group() -> None:
    """Collect notes."""


@contextmanager
def _troubles(as_json: bool) -> Iterator[None]:
    """What the pipeline refuses, as one sentence."""
    from watchbook.sources.notes.errors import Trouble  # after Django is set up

    with failing_as(as_json):
        try:
            yield
        except Trouble as trouble:
            raise Failure(trouble.as_json()["message"], str(trouble.code)) from None


@group.command()
@with_now
@with_json
def collect(now: datetime | None, as_json: bool) -> None:
    """Collect everything that waits, as the n8n workflow does."""
    from watchbook.sources.notes.jobs.collect import collect as run  # after Django is set up

    progress = Progress()
    with _troubles(as_json), clock.set_to(now):
        tally = asdict(run(lambda **figures: progress(figures)))
    progress.end()
    answer(tally, [f"{name}: {value}" for name, value in tally.items()], as_json=as_json)


@group.command()
@with_now
@with_json
def recover(now: datetime | None, as_json: bool) -> None:
    """Free what has been locked for more than 30 minutes."""
    from watchbook.sources.notes import actions  # after Django is set up

    with clock.set_to(now):
        done = actions.recover()
    answer(done, [f"{name}: {value}" for name, value in done.items()], as_json=as_json)


@group.group()
def keywords() -> None:
    """What is searched for candidates."""


@keywords.command("add")
@click.argument("words", nargs=-1, required=True)
@with_json
def add_keywords(words: tuple[str, ...], as_json: bool) -> None:
    """Search these words from now on; quote those that belong together."""
    from watchbook.sources.notes import actions  # after Django is set up

    with _troubles(as_json):
        made = [actions.add_keyword(word) for word in words]
    shown = [{"keyword": keyword.keyword, "added": is_new} for keyword, is_new in made]
    lines = [f"{row['keyword']}: {'added' if row['added'] else 'known'}" for row in shown]
    answer({"keywords": shown}, lines, as_json=as_json)


@keywords.command("list")
@with_json
def list_keywords(as_json: bool) -> None:
    """Every keyword, when it was searched, and what it found."""
    from watchbook.sources.notes.models import Keyword  # after Django is set up

    names = ("keyword", "platform", "is_active", "last_search_at", "next_search_at", "found_count", "last_error")
    rows = list(Keyword.objects.order_by("id").values(*names))
    answer({"keywords": rows}, table([[row[name] for name in names] for row in rows], names), as_json=as_json)


@keywords.command("search")
@with_now
@with_json
def search_keywords(now: datetime | None, as_json: bool) -> None:
    """Search every keyword that is due, here and now."""
    from watchbook.core.jobs.runner import run_now  # after Django is set up

    with _troubles(as_json), clock.set_to(now):
        run = run_now("notes.search")
    found = {"keywords": 0, "added": 0, "failed": 0, **run.progress, "outcome": run.outcome or run.state}
    answer(found, [f"{name}: {value}" for name, value in found.items()], as_json=as_json)


@group.group()
def cookies() -> None:
    """The cookie pool. A cookie is never shown again."""


@cookies.command("add")
@click.argument("name")
@click.option("--platform", default="xhs", show_default=True)
@click.option("--priority", type=int, default=0, show_default=True, help="Larger is used first.")
@click.option("--daily-limit", type=int, default=200, show_default=True, help="Most questions a day.")
@click.option("--user-agent", default="", help="Of the browser that the cookie comes from.")
@with_json
def add_cookie(name: str, platform: str, priority: int, daily_limit: int, user_agent: str, as_json: bool) -> None:
    """Put a cookie into the pool; it is read from standard input, where no shell keeps it."""
    from watchbook.sources.notes import actions  # after Django is set up

    plain = click.prompt("Cookie", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    values = {"priority": priority, "daily_limit": daily_limit, "user_agent": user_agent}
    with _troubles(as_json):
        row, is_new = actions.add_cookie(name, plain.strip(), platform=platform, **values)
    names = ("cookie_name", "mark", "encryption_key_id", "daily_limit", "priority")
    shown = {"added": is_new, **{field: getattr(row, field) for field in names}}
    answer(shown, [f"{row.cookie_name} {row.mark}: {'added' if is_new else 'replaced'}"], as_json=as_json)


@cookies.command("list")
@with_json
def list_cookies(as_json: bool) -> None:
    """Every cookie with its state, never the cookie."""
    from watchbook.sources.notes import vault  # after Django is set up
    from watchbook.sources.notes.api.shapes import cookie_out
    from watchbook.sources.notes.models import Cookie

    rows = [cookie_out(row) for row in Cookie.objects.order_by("id")]
    names = ("cookie_name", "mark", "status", "priority", "daily_used", "daily_limit", "total_errors", "cooling_until")
    closed = vault.why_closed()
    lines = [*table([[row[name] for name in names] for row in rows], names), *([closed] if closed else [])]
    answer({"cookies": rows, "closed": closed}, lines, as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def disable(name: str, as_json: bool) -> None:
    """Take a cookie out of turn."""
    _switch(name, False, as_json)


@cookies.command()
@click.argument("name")
@with_json
def enable(name: str, as_json: bool) -> None:
    """Put a cookie back into turn."""
    _switch(name, True, as_json)


def _switch(name: str, on: bool, as_json: bool) -> None:
    from watchbook.sources.notes import actions  # after Django is set up

    with _troubles(as_json):
        row = actions.switch_cookie(name, on=on)
    shown = {"cookie_name": row.cookie_name, "is_enabled": row.is_enabled}
    answer(shown, [f"{name}: {'on' if on else 'off'}"], as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def reset(name: str, as_json: bool) -> None:
    """Active again, with nothing held against it."""
    from watchbook.sources.notes import actions  # after Django is set up

    with _troubles(as_json):
        row = actions.reset_cookie(name)
    answer({"cookie_name": row.cookie_name, "status": row.status}, [f"{name}: {row.status}"], as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def probe(name: str, as_json: bool) -> None:
    """Ask the platform one thing with a cookie; an error while it cools bans it."""
    from watchbook.sources.notes import actions  # after Django is set up

    with _troubles(as_json):
        found = actions.probe_cookie(name)
    answer(found, [f"{name}: {'good' if found['success'] else found['reason']}, {found['status']}"], as_json=as_json)


@cookies.command("rotate-keys")
@with_json
def rotate_keys(as_json: bool) -> None:
    """Seal every cookie with the first key. May be stopped and started again."""
    from watchbook.sources.notes import actions  # after Django is set up

    with _troubles(as_json):
        done = actions.rotate_keys()
    figures: dict[str, Any] = asdict(done)
    answer(figures, [f"{name}: {value}" for name, value in figures.items()], as_json=as_json)
    if done.unknown:
        raise SystemExit(1)


@group.command("security-audit")
@click.option("--logs", type=PLACE, multiple=True, help="A log file or a folder of them.")
@click.option("--tree", type=PLACE, multiple=True, help="Instead of the installed package.")
@with_json
def security_audit(logs: tuple[Path, ...], tree: tuple[Path, ...], as_json: bool) -> None:
    """Look for cookies in the clear in logs, database and source tree."""
    from watchbook.sources.notes.jobs.audit import audit  # after Django is set up

    report = audit(logs, tree or None)
    lines = [f"{finding.where}: {finding.what}" for finding in report.findings]
    answer(report.as_json(), [*lines, f"passed={str(report.passed).lower()}"], as_json=as_json)
    if not report.passed:
        raise SystemExit(1)
