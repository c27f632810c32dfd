"""What a system declares about itself, and how it is found: by its folder, so that a sixth source edits nothing.

A folder under `watchbook/sources/` (or a house system such as `watchbook/library/`) has a `source.py` with one SOURCE.
Functions are named as "module:function" and imported when first used: declaring costs no import.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from watchbook.core.schedule import Schedule

QUEUES = ("crawler_queue", "monitoring_queue", "maintenance_queue", "cleanup_queue", "analysis_queue")

FLOORS = {"project", "sources", "core", "base"}


@dataclass(frozen=True)
class Job:
    """A piece of background work. `run` is called with a JobContext and the run's arguments."""

    name: str
    run: str
    title: str = ""
    queue: str = "crawler_queue"
    schedule: Schedule | None = None
    # Asked at each due slot; when it answers False no run is made. For jobs that tick often and rarely find work.
    wanted: str = ""
    lease_seconds: int = 120
    max_attempts: int = 3
    # May an operator start it from the jobs page, the API and `watchbook jobs run`?
    by_hand: bool = True
    # Names under which other programs send it through Celery, beside its own.
    celery_names: tuple[str, ...] = ()

    def function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = load(self.run)
        return function


@dataclass(frozen=True)
class SearchKind:
    """A kind of document in the search; `name` is stored, `title` is shown."""

    name: str
    title: str


@dataclass(frozen=True)
class Source:
    """A system's front door."""

    slug: str
    title: str
    icon: str
    order: int = 100
    jobs: tuple[Job, ...] = ()
    search_kinds: tuple[SearchKind, ...] = ()
    # kinds of stream entries: (kind, title)
    stream_kinds: tuple[tuple[str, str], ...] = ()
    # what it writes into the audit log: (event, title)
    audit_kinds: tuple[tuple[str, str], ...] = ()
    # "module:function" (request) -> core.ui.cards.Card for the home page
    card: str = ""
    # "module:function" (delivery) -> None, called in the transaction that gives a delivery its new state
    delivery_changed: str = ""
    # "module:function" (kind, id, user) -> core.stream.clip.Clip or None
    clip: str = ""
    # kinds that can be filed beside those that search finds
    clip_kinds: tuple[str, ...] = ()
    # "module:function" (user) -> the scopes of its own that this person may see, beside those of the house
    scopes: str = ""
    # name of the URL that the menu opens; empty = no menu entry
    home_url: str = ""
    package: str = ""


@cache
def load(dotted: str) -> Any:
    """The object behind "module:name"."""
    module, _, name = dotted.partition(":")
    return getattr(import_module(module), name)


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return [m.name for m in pkgutil.iter_modules(spec.submodule_search_locations if spec else []) if m.ispkg]


@cache
def packages() -> tuple[str, ...]:
    """Dotted names of all system folders, without importing them."""
    found = [f"watchbook.sources.{name}" for name in _folders("watchbook.sources")]
    # A house system (the library) lives beside `sources`; its front door is the same.
    found += [f"watchbook.{name}" for name in _folders("watchbook") if name not in FLOORS]
    return tuple(sorted(package for package in found if find_spec(f"{package}.source")))


@cache
def sources() -> tuple[Source, ...]:
    """Every system, in menu order."""
    found = []
    for package in packages():
        source: Source = import_module(f"{package}.source").SOURCE
        object.__setattr__(source, "package", package)
        found.append(source)
    return tuple(sorted(found, key=lambda source: (source.order, source.slug)))


def source(slug: str) -> Source:
    for candidate in sources():
        if candidate.slug == slug:
            return candidate
    raise LookupError(f"no system is called {slug}")


@cache
def jobs() -> dict[str, Job]:
    """Every job by name: the house's own first, then each system's."""
    from watchbook.core.house import JOBS  # the house declares with the classes of this module

    found: dict[str, Job] = {}
    for job in (*JOBS, *(job for source in sources() for job in source.jobs)):
        if job.name in found:
            raise LookupError(f"two jobs are called {job.name}")
        if job.queue not in QUEUES:
            raise LookupError(f"job {job.name} names an unknown queue {job.queue}")
        found[job.name] = job
    return found


def job_called(name: str) -> Job | None:
    """The job of this name, or of a name under which other programs know it."""
    return jobs().get(name) or next((job for job in jobs().values() if name in job.celery_names), None)


def parts(module: str) -> list[tuple[Source, Any]]:
    """The module of that name of every system that has one, e.g. parts("urls")."""
    return [
        (source, import_module(f"{source.package}.{module}"))
        for source in sources()
        if find_spec(f"{source.package}.{module}")
    ]


def forget() -> None:
    """For tests that add a folder: look again."""
    for cached in (load, packages, sources, jobs):
        cached.cache_clear()
