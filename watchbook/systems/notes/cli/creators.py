"""`watchbook notes creators`: follow creators."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import answer, failing_as, with_json, with_now
from watchbook.systems.notes.cli import as_failures
from watchbook.systems.notes.cli.managed import show_list, with_list

CREATOR_FIELDS = (
    "id", "title", "is_active", "every_minutes", "last_check_at", "next_check_at", "found_count", "possible_gap",
    "last_error",
)  # fmt: skip
EVERY = click.option("--every", "every_minutes", type=click.IntRange(5, 43_200), help="Minutes between checks.")
LABEL = click.option("--label", help="Your name for the creator.")


@click.group()
def creators() -> None:
    """Manage the creators whose new notes become candidates."""


@creators.command("add")
@click.argument("creator")
@LABEL
@EVERY
@with_json
def add_creator(creator: str, as_json: bool, **given: Any) -> None:
    """Follow a creator by profile address, short link or ID."""
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    with as_failures(as_json):
        row, is_new = actions.add_creator(creator, **_given(given))
    shown = {"id": row.pk, "title": row.title, "added": is_new}
    answer(shown, [f"{row.pk} {row.title}: {'added' if is_new else 'known'}"], as_json=as_json)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


@creators.command("list")
@click.option("--q", default="", help="Words of the name.")
@click.option("--state", default="", help="active, failing or paused.")
@click.option("--gap", is_flag=True, help="Only creators with a possible gap.")
@with_list
@with_json
def list_creators(q: str, state: str, gap: bool, output: Path | None, limit: int, as_json: bool) -> None:
    """Every creator, when it was checked, and what it added."""
    from watchbook.systems.notes import filters  # after Django is set up
    from watchbook.systems.notes.models import Creator

    with failing_as(as_json):
        asked = {"q": q, "state": state, "gap": "1" if gap else ""}
        show_list(
            "creators", filters.CREATORS.show(Creator.objects.all(), asked), CREATOR_FIELDS, output, limit, as_json
        )


@creators.command("set")
@click.argument("number", type=int)
@LABEL
@EVERY
@click.option("--every-default", is_flag=True, help="Check as often as set for this server.")
@with_json
def set_creator(number: int, every_default: bool, as_json: bool, **given: Any) -> None:
    """Change name or frequency of a creator. NUMBER is its ID in the list."""
    _change(number, _given(given) | ({"every_minutes": None} if every_default else {}), as_json)


@creators.command("pause")
@click.argument("number", type=int)
@with_json
def pause_creator(number: int, as_json: bool) -> None:
    """Pause a creator: it is not checked until you resume it."""
    _change(number, {"is_active": False}, as_json)


@creators.command("resume")
@click.argument("number", type=int)
@with_json
def resume_creator(number: int, as_json: bool) -> None:
    """Resume a paused creator."""
    _change(number, {"is_active": True}, as_json)


def _change(number: int, values: dict[str, Any], as_json: bool) -> None:
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    with as_failures(as_json):
        row = actions.find_creator(number)
        changed = actions.change_creator(row, values)
    words = f"{row.title}: {', '.join(changed)} changed" if changed else f"{row.title}: no change"
    answer({"id": row.pk, "changed": changed}, [words], as_json=as_json)


@creators.command("delete")
@click.argument("number", type=int)
@with_json
def delete_creator(number: int, as_json: bool) -> None:
    """Stop following a creator. Candidates and notes that were found are kept."""
    from watchbook.systems.notes.actions import keywords as actions  # after Django is set up

    with as_failures(as_json):
        row = actions.find_creator(number)
        actions.delete_creator(row)
    answer({"id": number, "deleted": True}, [f"{row.title}: deleted"], as_json=as_json)


@creators.command("check")
@with_now
@with_json
def check_creators(now: datetime | None, as_json: bool) -> None:
    """Check every creator that is due, here and now."""
    from watchbook.core.jobs.cli import run_or_fail
    from watchbook.core.jobs.runner import run_now  # after Django is set up

    with as_failures(as_json), clock.set_to(now):
        run = run_or_fail(lambda: run_now("notes.creators"))
    found = {"creators": 0, "added": 0, "failed": 0, "gaps": 0, **run.progress, "outcome": run.outcome or run.state}
    answer(found, [f"{name}: {value}" for name, value in found.items()], as_json=as_json)
