"""`watchbook notes`: collect, recover, cookies, security audit; keywords, candidates and creators are beside it."""

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
def as_failures(as_json: bool) -> Iterator[None]:
    """What the pipeline refuses, as one sentence."""
    from watchbook.systems.notes.rules import NotesError  # after Django is set up

    with failing_as(as_json):
        try:
            yield
        except NotesError as error:
            raise Failure(error.as_json()["message"], str(error.code)) from None


@group.command()
@with_now
@with_json
def collect(now: datetime | None, as_json: bool) -> None:
    """Collect all pending candidates, in the same steps as the n8n workflow."""
    from watchbook.systems.notes.jobs.collect import collect as run  # after Django is set up

    progress = Progress()
    with as_failures(as_json), clock.set_to(now):
        totals = asdict(run(lambda **figures: progress(figures)))
    progress.end()
    answer(totals, [f"{name}: {value}" for name, value in totals.items()], as_json=as_json)


@group.command()
@with_now
@with_json
def recover(now: datetime | None, as_json: bool) -> None:
    """Release locks that had no heartbeat for 30 minutes."""
    from watchbook.systems.notes import actions  # after Django is set up

    with clock.set_to(now):
        done = actions.recover()
    answer(done, [f"{name}: {value}" for name, value in done.items()], as_json=as_json)


@group.command("read-again")
@click.argument("note_ids", nargs=-1, required=True)
@with_json
def read_again(note_ids: tuple[str, ...], as_json: bool) -> None:
    """Queue collected notes to be read again: other texts become versions, other counts points."""
    from watchbook.systems.notes.models import Note  # after Django is set up
    from watchbook.systems.notes.store import readings

    with failing_as(as_json):
        known = set(Note.objects.filter(note_id__in=note_ids).values_list("note_id", flat=True))
        if unknown := [one for one in note_ids if one not in known]:
            raise Failure(f"No collected note has the ID {unknown[0]}.", "NOT_FOUND")
        queued = readings.ask(note_ids, clock.now())
    answer({"queued": queued}, [f"queued: {queued}"], as_json=as_json)


@group.command()
@click.argument("email")
@with_json
def allow(email: str, as_json: bool) -> None:
    """Let a user do notes work: scope notes, searches, runs, the list of the cookie pool."""
    _set_access(email, True, as_json)


@group.command()
@click.argument("email")
@with_json
def disallow(email: str, as_json: bool) -> None:
    """Take the permission for notes work from a user."""
    _set_access(email, False, as_json)


def _set_access(email: str, allowed: bool, as_json: bool) -> None:
    from watchbook.core.accounts.models import User  # after Django is set up
    from watchbook.systems.notes import actions

    with failing_as(as_json):
        user = User.objects.filter(email__iexact=email.strip()).first()
        if user is None:
            raise Failure("No user has this e-mail address.", "NOT_FOUND")
        changed = actions.set_user_allowed(user, allowed)
    words = "may do notes work" if allowed else "may not do notes work"
    answer({"email": user.email, "allowed": allowed, "changed": changed}, [f"{user.email} {words}."], as_json=as_json)


@group.group()
def cookies() -> None:
    """Manage the cookie pool. Cookies are never displayed."""


@cookies.command("add")
@click.argument("name")
@click.option("--platform", default="xhs", show_default=True)
@click.option("--priority", type=int, default=0, show_default=True, help="Higher values are used first.")
@click.option("--daily-limit", type=int, default=200, show_default=True, help="Maximum requests per day.")
@click.option("--user-agent", default="", help="User agent of the browser that the cookie comes from.")
@with_json
def add_cookie(name: str, platform: str, priority: int, daily_limit: int, user_agent: str, as_json: bool) -> None:
    """Add a cookie to the pool. Reads the cookie from standard input, so that no shell history keeps it."""
    from watchbook.systems.notes import actions  # after Django is set up

    plain = click.prompt("Cookie", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    values: dict[str, Any] = {"priority": priority, "daily_limit": daily_limit, "user_agent": user_agent}
    with as_failures(as_json):
        row, is_new = actions.add_cookie(name, plain.strip(), platform=platform, **values)
    names = ("cookie_name", "mark", "encryption_key_id", "daily_limit", "priority")
    shown = {"added": is_new, **{field: getattr(row, field) for field in names}}
    answer(shown, [f"{row.cookie_name} {row.mark}: {'added' if is_new else 'replaced'}"], as_json=as_json)


@cookies.command("list")
@with_json
def list_cookies(as_json: bool) -> None:
    """List all cookies with their state, without the cookie itself."""
    from watchbook.systems.notes import encryption  # after Django is set up
    from watchbook.systems.notes.api.schemas import cookie_out
    from watchbook.systems.notes.models import Cookie

    rows = [cookie_out(row) for row in Cookie.objects.order_by("id")]
    names = ("cookie_name", "mark", "status", "priority", "daily_used", "daily_limit", "total_errors", "cooling_until")
    closed = encryption.unavailable_reason()
    lines = [*table([[row[name] for name in names] for row in rows], names), *([closed] if closed else [])]
    answer({"cookies": rows, "closed": closed}, lines, as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def disable(name: str, as_json: bool) -> None:
    """Disable a cookie."""
    _switch(name, False, as_json)


@cookies.command()
@click.argument("name")
@with_json
def enable(name: str, as_json: bool) -> None:
    """Enable a cookie."""
    _switch(name, True, as_json)


def _switch(name: str, on: bool, as_json: bool) -> None:
    from watchbook.systems.notes import actions  # after Django is set up

    with as_failures(as_json):
        row = actions.switch_cookie(name, on=on)
    shown = {"cookie_name": row.cookie_name, "is_enabled": row.is_enabled}
    answer(shown, [f"{name}: {'enabled' if on else 'disabled'}"], as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def reset(name: str, as_json: bool) -> None:
    """Make a cookie active again and set its error counters to 0."""
    from watchbook.systems.notes import actions  # after Django is set up

    with as_failures(as_json):
        row = actions.reset_cookie(name)
    answer({"cookie_name": row.cookie_name, "status": row.status}, [f"{name}: {row.status}"], as_json=as_json)


@cookies.command()
@click.argument("name")
@with_json
def probe(name: str, as_json: bool) -> None:
    """Send one test request with a cookie. A failed test bans a cookie that is cooling down."""
    from watchbook.systems.notes import actions  # after Django is set up

    with as_failures(as_json):
        found = actions.probe_cookie(name)
    answer(found, [f"{name}: {'good' if found['success'] else found['reason']}, {found['status']}"], as_json=as_json)


@cookies.command("rotate-keys")
@with_json
def rotate_keys(as_json: bool) -> None:
    """Re-encrypt all cookies with the first key. You can stop it and start it again."""
    from watchbook.systems.notes import actions  # after Django is set up

    with as_failures(as_json):
        done = actions.rotate_keys()
    figures: dict[str, Any] = asdict(done)
    answer(figures, [f"{name}: {value}" for name, value in figures.items()], as_json=as_json)
    if done.unknown:
        raise SystemExit(1)


@group.command("security-audit")
@click.option("--logs", type=PLACE, multiple=True, help="Log file, or folder of log files.")
@click.option("--tree", type=PLACE, multiple=True, help="Folder to scan instead of the installed package.")
@with_json
def security_audit(logs: tuple[Path, ...], tree: tuple[Path, ...], as_json: bool) -> None:
    """Scan logs, database and source tree for unencrypted cookies."""
    from watchbook.systems.notes.jobs.audit import audit  # after Django is set up

    report = audit(logs, tree or None)
    lines = [f"{finding.where}: {finding.what}" for finding in report.findings]
    answer(report.as_json(), [*lines, f"passed={str(report.passed).lower()}"], as_json=as_json)
    if not report.passed:
        raise SystemExit(1)


def _add_groups() -> None:
    from watchbook.systems.notes.cli.creators import creators  # they use what is above
    from watchbook.systems.notes.cli.managed import candidates, keywords

    group.add_command(keywords)
    group.add_command(candidates)
    group.add_command(creators)


_add_groups()
