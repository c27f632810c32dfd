"""Clips: items that can be saved to the library. A system turns an item into a Clip.

A system names a function in `Source.clip`; it gets (kind, id, user) and answers a Clip, or None when the kind is not
its own, the item is not there, or this person may not see it. The library turns a Clip into a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from django import template
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from watchbook.core import registry
from watchbook.core.accounts.models import User


@dataclass(frozen=True)
class Clip:
    """An item as it is now, with where and when it comes from. `html` is the system's own cleaned markup."""

    kind: str
    id: str
    source: str
    title: str
    html: str
    text: str
    source_link: str
    source_at: datetime | None
    version: str = ""


def find_clip(kind: str, object_id: str, user: User) -> Clip | None:
    """The item of that kind and id as this person may see it."""
    for source in registry.sources():
        if source.clip:
            found: Clip | None = registry.load(source.clip)(kind, object_id, user)
            if found is not None:
                return found
    return None


class ClipError(Exception):
    """An address could not be read for a clip. `message` is for the user, `code` for programs."""

    def __init__(self, message: str, code: str = "not_read") -> None:
        super().__init__(message)
        self.message, self.code = message, code


def read_address(url: str, user: User) -> Clip | None:
    """Read an address of the web now, and return it as an item that `find_clip` finds from then on.

    Sends requests, so no page is shown by it. None: no installed system reads this address. Raises ClipError.
    """
    for reader in registry.readers():
        found: Clip | None = registry.load(reader.read)(url, user)
        if found is not None:
            return found
    return None


def can_read_again(kind: str) -> bool:
    """Whether items of this kind are read when a user asks for it, and not by themselves."""
    return any(reader.kind == kind for reader in registry.readers())


@dataclass(frozen=True)
class Address:
    """An address of this server: the name of its URL, the values in its path, and what follows the path."""

    name: str
    values: Mapping[str, Any]
    query: str = ""
    fragment: str = ""


def find_address(address: str) -> tuple[str, str] | None:
    """Return kind and id of the item that an address of this server shows; None for every other address."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or not parts.path.startswith("/"):
        return None
    try:
        match = resolve(parts.path)
    except Resolver404:
        return None
    for source in registry.sources():
        if source.address and match.app_names[:1] == [source.home_url.partition(":")[0]]:
            asked = Address(match.url_name or "", match.kwargs, parts.query, parts.fragment)
            found: tuple[str, str] | None = registry.load(source.address)(asked)
            return found
    return None


def clippable_kinds() -> frozenset[str]:
    """Return the kinds of items that can be saved, without asking the system for each item."""
    clipping = [source for source in registry.sources() if source.clip]
    found = {kind.name for source in clipping for kind in source.search_kinds}
    return frozenset(found.union(*(source.clip_kinds for source in clipping)))


def clip_url(kind: str, object_id: object) -> str:
    """Return the page that saves this item; empty when no installed system saves clips."""
    page = _clip_page()
    return f"{page}?{urlencode({'kind': kind, 'id': str(object_id)})}" if page else ""


def clips_url(items: Sequence[tuple[str, str]]) -> str:
    """Return the page that saves several items (kind, id) together; empty when there is nothing to save."""
    if len(items) == 1:
        return clip_url(*items[0])
    page = _clip_page()
    query = urlencode([("item", f"{kind}:{object_id}") for kind, object_id in items])
    return f"{page}?{query}" if page and items else ""


def _clip_page() -> str:
    source = registry.clip_source()
    if source is None:
        return ""
    try:
        return reverse(source.clip_page)
    except NoReverseMatch:
        return ""


register = template.Library()


@register.inclusion_tag("stream/_save_button.html")
def save_to_library_button(kind: str, object_id: object, css: str = "btn btn--small") -> dict[str, str]:
    return {"address": clip_url(kind, object_id), "css": css}


@register.inclusion_tag("stream/_item_actions.html")
def item_actions() -> dict[str, object]:
    """Buttons for selected items of a list, whose boxes are named `item` (see core.stream.selection)."""
    return {"can_save": bool(_clip_page())}
