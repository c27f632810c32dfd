"""Django system checks for what a system declares in its `source.py`. `watchbook check` and every start run them.

Each error names the system, the field and the remedy, so that a mistake is found before the first page is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.contrib.staticfiles import finders
from django.core.checks import CheckMessage, Error, register
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from watchbook.core import registry

# Fields of a Source that name a function.
FUNCTIONS = ("card", "health", "health_items", "delivery_changed", "clip", "scopes")
SLUG = re.compile(r"[a-z][a-z0-9_]{1,30}\Z")
SPRITE = "kit/icons.svg"
# Addresses that the server answers beside those of its URL patterns.
RESERVED = {"static", "media", "api", "admin"}

Found = Iterator[Error]


@register("watchbook")
def check_sources(app_configs: Sequence[AppConfig] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """Check every declared system."""
    return [error for source in registry.sources() for error in check_source(source)]


def check_source(source: registry.Source) -> list[Error]:
    """Return the errors of one declaration; an empty list when it is sound."""
    parts: tuple[Callable[[registry.Source], Found], ...] = (_slug, _icon, _functions, _jobs, _home_url)
    return [error for part in parts for error in part(source)]


def _error(source: registry.Source, message: str, hint: str, number: int) -> Error:
    return Error(f"{source.package or source.slug}: {message}", hint=hint, obj=None, id=f"watchbook.E{number:03d}")


def _slug(source: registry.Source) -> Found:
    if not SLUG.match(source.slug):
        yield _error(source, f"slug “{source.slug}” is not valid", "Use 2 to 31 lower-case letters and digits.", 1)
    if source.slug in reserved_slugs():
        yield _error(source, f"slug “{source.slug}” is reserved", "The server uses it. Choose another slug.", 2)
    if sum(other.slug == source.slug for other in registry.sources()) > 1:
        yield _error(source, f"slug “{source.slug}” is used twice", "Another system has it. Choose another slug.", 3)


def reserved_slugs() -> set[str]:
    """Return the first parts of all addresses that belong to no system."""
    own = {source.slug for source in registry.sources()}
    found = set(RESERVED)
    for pattern in _patterns(get_resolver().url_patterns):
        found.add(pattern.lstrip("^").partition("/")[0])
    return {name for name in found if SLUG.match(name)} - own


def _patterns(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        text = str(pattern.pattern)
        if isinstance(pattern, URLResolver) and not text:
            yield from _patterns(pattern.url_patterns)
        else:
            yield text


def _icon(source: registry.Source) -> Found:
    path, _, name = source.icon.rpartition("#")
    file = finders.find(path or SPRITE)
    if not file:
        yield _error(source, f"icon file “{path}” does not exist", "Put the sprite into the folder static/.", 4)
        return
    with open(str(file), encoding="utf-8") as sprite:
        if f'id="{name}"' not in sprite.read():
            yield _error(source, f"icon “{name}” is not in {path or SPRITE}", "Name a symbol of the sprite.", 5)


def _functions(source: registry.Source) -> Found:
    named = {field: str(getattr(source, field)) for field in FUNCTIONS}
    if source.recogniser:
        named |= {f"recogniser.{step}": getattr(source.recogniser, step) for step in ("read", "offer", "add")}
    named |= {f"job {job.name}": job.run for job in source.jobs}
    named |= {f"job {job.name}, wanted": job.wanted for job in source.jobs}
    named |= {f"job {job.name}, switch": job.switch for job in source.jobs}
    if source.media:
        named["media.visible"] = source.media.visible
    for field, dotted in named.items():
        if dotted and (problem := _missing(dotted)):
            yield _error(source, f"{field} names {dotted}: {problem}", 'Write "package.module:function".', 6)


def _missing(dotted: str) -> str:
    module, colon, name = dotted.partition(":")
    if not colon or not name:
        return "no function is named"
    try:
        found = import_module(module)
    except ImportError as error:
        return f"the module cannot be imported ({error})"
    return "" if callable(getattr(found, name, None)) else "the module has no such function"


def _jobs(source: registry.Source) -> Found:
    for job in source.jobs:
        if not job.name.startswith(f"{source.slug}."):
            yield _error(source, f"job “{job.name}” has a foreign name", f"Begin the name with “{source.slug}.”.", 7)
        if job.queue not in registry.QUEUES:
            yield _error(source, f"job “{job.name}” names the queue “{job.queue}”", f"Use {registry.QUEUES}.", 8)
        if not job.title:
            yield _error(source, f"job “{job.name}” has no title", "The job list shows it: write verb and object.", 9)


def _home_url(source: registry.Source) -> Found:
    if not source.home_url:
        return
    try:
        reverse(source.home_url)
    except NoReverseMatch:
        yield _error(source, f"home_url “{source.home_url}” does not exist", "Name a URL without arguments.", 10)
