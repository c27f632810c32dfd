"""Declarations of systems are checked at start, with messages that name the remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.checks import check_source, check_sources, reserved_slugs
from watchbook.core.registry import Job

GOOD = registry.Source(
    slug="tides",
    title="Tides",
    icon="stream",
    home_url="home",
    jobs=(Job(name="tides.read", title="Read tides", run="watchbook.core.checks:check_source"),),
)


def job(**changes: object) -> tuple[Job, ...]:
    return (replace(GOOD.jobs[0], **changes),)  # type: ignore[arg-type]


def test_installed_systems_pass() -> None:
    assert check_sources() == []


def test_sound_declaration_passes() -> None:
    assert check_source(GOOD) == []


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"slug": "Tides!", "jobs": ()}, "E001", "not valid"),
        ({"slug": "accounts", "jobs": ()}, "E002", "reserved"),
        ({"slug": "nga", "jobs": ()}, None, ""),
        ({"icon": "no/such.svg#mark"}, "E004", "does not exist"),
        ({"icon": "no-such-symbol"}, "E005", "not in"),
        ({"card": "watchbook.core.checks:no_such"}, "E006", "no such function"),
        ({"health": "watchbook.no_such:health"}, "E006", "cannot be imported"),
        ({"clip": "watchbook.core.checks"}, "E006", "no function is named"),
        ({"jobs": job(run="watchbook.core.checks:SLUG")}, "E006", "no such function"),
        ({"jobs": job(name="waves.read")}, "E007", "foreign name"),
        ({"jobs": job(queue="fast_queue")}, "E008", "fast_queue"),
        ({"jobs": job(title="")}, "E009", "no title"),
        ({"home_url": "tides:list"}, "E010", "does not exist"),
    ],
)
def test_wrong_declaration_is_named(changes: dict[str, object], code: str | None, words: str) -> None:
    errors = check_source(replace(GOOD, **changes))  # type: ignore[arg-type]
    assert [error.id for error in errors] == ([f"watchbook.{code}"] if code else [])
    assert all(words in error.msg and error.hint for error in errors)


def test_slug_used_twice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "sources", lambda: (GOOD, replace(GOOD, title="Other")))
    assert "watchbook.E003" in [error.id for error in check_source(GOOD)]


def test_addresses_of_the_server_are_reserved() -> None:
    assert {"accounts", "api", "operations", "static"} <= reserved_slugs()
    assert "nga" not in reserved_slugs()


@pytest.mark.django_db
@pytest.mark.parametrize("job", [job for job in registry.jobs().values() if job.wanted], ids=lambda job: job.name)
def test_every_job_says_whether_it_is_wanted(job: registry.Job) -> None:
    assert registry.load(job.wanted)(clock.now()) in (True, False)
