"""What a writer looks up while writing: pages to link to, and members to mention."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from watchbook.base.text import clean_text
from watchbook.core.accounts.models import User
from watchbook.core.search.find import find
from watchbook.systems.library import access
from watchbook.systems.library.models import Page, SpaceRole
from watchbook.systems.library.models.tree import Crumb, paths
from watchbook.systems.library.options import PAGE_KILOBYTES
from watchbook.systems.library.parse.markdown import to_html
from watchbook.systems.library.store import check_channel
from watchbook.systems.library.store.pages import clean_content
from watchbook.systems.library.store.publish import KIND, page_id_of

SHOWN = 8
# Pages that are read to find the best of them.
CANDIDATES, MOST_WORDS = 40, 5
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class LinkTarget:
    """A page to link to. `path` is where it is: space, folders."""

    id: UUID
    title: str
    path: str


def link_targets(user: User, page_id: UUID, words: str) -> list[LinkTarget]:
    """Return pages of the workspace that the user can read, by beginnings of words of the title, or by id.

    First those that begin with the words, then those of the same space, then the newest. Without words those changed
    last.
    """
    with access.reading():
        return _targets(user, access.page_for(user, page_id), words)


def _targets(user: User, page: Page, words: str) -> list[LinkTarget]:
    # Spaces by id, as in `readable`: a join would read all pages to find the newest.
    spaces = list(access.spaces_of(user).filter(workspace_id=page.space.workspace_id).values_list("pk", flat=True))
    rows = access.readable(user).live().filter(space_id__in=spaces).exclude(pk=page.pk)
    rows = rows.select_related("space").defer("content")
    wanted = clean_text(words).strip()[:200]
    if _ID.fullmatch(wanted):  # of an address that was pasted
        shown = access.sight(user).show(rows.filter(pk=wanted))
    elif wanted:
        found = rows.filter(pk__in=titled(access.scopes_in(user, spaces), wanted, CANDIDATES))
        shown = access.sight(user).show(found.order_by("-updated_at", "pk"))
        start = wanted.lower()
        shown.sort(key=lambda one: (not one.title.lower().startswith(start), one.space_id != page.space_id))
    else:
        shown = access.sight(user).show(rows.order_by("-updated_at")[:SHOWN])
    ways = paths([one.pk for one in shown[:SHOWN]])
    return [LinkTarget(one.pk, one.title, _path(user, one, ways[one.pk])) for one in shown[:SHOWN]]


def titled(scopes: list[str], wanted: str, most: int) -> list[UUID]:
    """Return pages by beginnings of words in their titles: those with exactly these words, then the newest.

    From the word index: a comparison with every title takes longer with every page.
    """
    words = re.findall(r"\w+", wanted)[:MOST_WORDS]
    found: dict[str, None] = {}
    for end in ("", "*"):
        query, cursor = " ".join(f"title:{word}{end}" for word in words), None
        while len(found) < most:
            hits = find(query, scopes=scopes, kinds=[KIND], limit=most - len(found), before=cursor, titles_first=False)
            found |= dict.fromkeys(page_id_of(hit.object_id) for hit in hits.items)
            cursor = hits.next
            if not cursor:
                break
    return [UUID(pk) for pk in found]


def _path(user: User, page: Page, above: list[Crumb]) -> str:
    way = access.sight(user).way(above, page.space_id)
    return " / ".join([page.space.name, *(crumb.title for crumb in way)])


def people_of(user: User, page_id: UUID, words: str) -> list[User]:
    """Return members who can read the page, by part of their address. For viewers of the page."""
    page = access.page_for(user, page_id)
    found = access.readers_of(page)
    if wanted := clean_text(words).strip()[:100].lower():
        found = found.filter(email__contains=wanted)
    return list(found.order_by("email")[:SHOWN])


def short_name(person: User) -> str:
    """Return the part of the address before the @: what a mention shows."""
    return person.email.partition("@")[0]


def from_markdown(text: str) -> str:
    """Return Markdown as cleaned HTML within the limits of a page."""
    # Too long a text is refused by the cleaner before it is converted.
    return clean_content(to_html(text) if len(text) <= PAGE_KILOBYTES.value * 1024 else text)


def convert_markdown(user: User, page_id: UUID, text: str) -> str:
    """Return pasted Markdown as HTML for a page that the user is writing. Nothing is saved."""
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    with transaction.atomic():
        check_channel([page.space.workspace_id])
    return from_markdown(text)
