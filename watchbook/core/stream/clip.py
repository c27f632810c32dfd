"""Filing an item in the library: what a clip is, and asking the systems for one.

A system names a function in `Source.clip`; it gets (kind, id, user) and answers a Clip, or None when the kind is not
its own, the item is not there, or this person may not see it. The library turns a Clip into a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from watchbook.core import registry

LIBRARY = "library"


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


def find_clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """The item of that kind and id as this person may see it."""
    for source in registry.sources():
        if source.clip:
            found: Clip | None = registry.load(source.clip)(kind, object_id, user)
            if found is not None:
                return found
    return None


def has_library() -> bool:
    return any(source.slug == LIBRARY for source in registry.sources())


def fileable_kinds() -> frozenset[str]:
    """What a list may offer to file without asking for each item: what systems with a clip name."""
    clipping = [source for source in registry.sources() if source.clip]
    found = {kind.name for source in clipping for kind in source.search_kinds}
    return frozenset(found.union(*(source.clip_kinds for source in clipping)))


def filing_address(kind: str, object_id: object) -> str:
    """Where the library asks in which folder to file it; empty when there is no library."""
    if not has_library():
        return ""
    try:
        page = reverse("library:clip")
    except NoReverseMatch:
        return ""
    return f"{page}?{urlencode({'kind': kind, 'id': str(object_id)})}"
