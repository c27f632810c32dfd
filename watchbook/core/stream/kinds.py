"""The words of the systems for what can happen in them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from watchbook.core import registry


def sources() -> list[registry.Source]:
    """Systems that tell of something."""
    return [source for source in registry.sources() if source.stream_kinds]


def kinds_of(slug: str) -> list[tuple[str, str]]:
    return [(kind, _(title)) for source in sources() if source.slug == slug for kind, title in source.stream_kinds]


def title_of(slug: str, kind: str) -> str:
    return dict(kinds_of(slug)).get(kind, kind)


def icons() -> dict[str, str]:
    return {source.slug: source.icon for source in registry.sources()}


def titles() -> dict[tuple[str, str], str]:
    """The words for every (system, kind)."""
    return {(source.slug, kind): _(title) for source in sources() for kind, title in source.stream_kinds}
