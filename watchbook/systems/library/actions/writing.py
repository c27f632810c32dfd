"""What a writer looks up while writing: pages to link to, and members to mention."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Q, When
from django.db.models.functions import Lower

from watchbook.base.text import clean_text
from watchbook.core.accounts.models import User
from watchbook.systems.library import access
from watchbook.systems.library.models import Page, SpaceRole
from watchbook.systems.library.models.tree import ancestors
from watchbook.systems.library.options import PAGE_KILOBYTES
from watchbook.systems.library.parse.markdown import to_html
from watchbook.systems.library.store import check_channel
from watchbook.systems.library.store.pages import clean_content

SHOWN = 8


@dataclass(frozen=True)
class LinkTarget:
    """A page to link to. `path` is where it is: space, folders."""

    id: UUID
    title: str
    path: str


def link_targets(user: User, page_id: UUID, words: str) -> list[LinkTarget]:
    """Return pages of the workspace that the user can read, by words of the title, or those changed last."""
    page = access.page_for(user, page_id)
    rows = access.readable(user).live().filter(space__workspace_id=page.space.workspace_id).exclude(pk=page_id)
    wanted = clean_text(words).strip()[:200].lower()
    # By hand: MariaDB compares these columns by bytes.
    has_words = Q()
    for word in wanted.split()[:5]:
        has_words &= Q(lower_title__contains=word)
    rows = rows.alias(lower_title=Lower("title")).filter(has_words)
    first = Case(When(Q(lower_title__startswith=wanted), then=0), default=1)
    here = Case(When(space_id=page.space_id, then=0), default=1)
    rows = rows.select_related("space").defer("content")
    found = rows.order_by(first, here, "-updated_at")[:SHOWN] if wanted else rows.order_by("-updated_at")[:SHOWN]
    return [LinkTarget(one.pk, one.title, _path(user, one)) for one in access.sight(user).show(found)]


def _path(user: User, page: Page) -> str:
    way = access.sight(user).way(ancestors(page.pk)[:-1], page.space_id)
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
