"""Lists of URLs that one system keeps and another reads, so that systems need not import each other.

A system that keeps lists names two functions in `Source.url_lists`; one that does something with them names a function
in `Source.url_list_tab`, which gives its page of a list a place among the tabs of the list's owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from watchbook.core import registry
from watchbook.core.accounts.models import User


@dataclass(frozen=True)
class UrlList:
    """A list of URLs of one site. `version` differs whenever the list does; empty if it was never read.

    `is_complete` is False while parts could not be read: then a URL that is missing has not left the list.
    """

    source: str
    key: str
    title: str
    address: str
    url: str
    owner_id: object
    count: int
    version: str
    read_at: datetime | None
    is_complete: bool = True

    @property
    def name(self) -> str:
        """Source and key in one word, as other systems store it."""
        return f"{self.source}:{self.key}"


@dataclass(frozen=True)
class ListedUrl:
    """A URL of a list; `lastmod` as the list spells it, empty if it names none."""

    url: str
    lastmod: str = ""


@dataclass(frozen=True)
class Tab:
    """A page of another system about a list."""

    title: str
    url: str
    count: int | None = None


def lists_of(user: User) -> list[UrlList]:
    """Return all lists of this user, of every system."""
    found: list[UrlList] = []
    for source in registry.sources():
        if source.url_lists:
            found += registry.load(source.url_lists.all)(user)
    return found


def find(name: str, user: User) -> UrlList | None:
    """Return the list of this user with this name, or None if it is gone."""
    slug, _, key = name.partition(":")
    for source in registry.sources():
        if source.slug == slug and source.url_lists:
            made: UrlList | None = registry.load(source.url_lists.one)(user, key)
            return made
    return None


def read(name: str, user: User) -> Iterator[ListedUrl]:
    """Yield the URLs of a list in a fixed order."""
    slug, _, key = name.partition(":")
    source = registry.source(slug)
    if source.url_lists:
        yield from registry.load(source.url_lists.read)(user, key)


def tabs(user: User, name: str) -> list[Tab]:
    """Return the pages that other systems have about this list."""
    found = [registry.load(source.url_list_tab)(user, name) for source in registry.sources() if source.url_list_tab]
    return [tab for tab in found if tab is not None]
