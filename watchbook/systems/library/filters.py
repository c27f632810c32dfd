"""Search of pages by words and filters; the page and the API share it.

The last word is a beginning: `ferr` finds ferry. Words in quotation marks are a phrase.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Q
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _

from watchbook.base.text import clean_text
from watchbook.core.accounts.models import User
from watchbook.core.search.find import Hit, find
from watchbook.core.search.find import Page as Hits
from watchbook.core.search.highlight import Segment
from watchbook.kit.paging import InvalidCursor, as_moment, as_text, as_value, beyond, decode_cursor, encode_cursor
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import Page, Space, Tag
from watchbook.systems.library.models.pages import PageQuerySet
from watchbook.systems.library.models.tree import Crumb, paths
from watchbook.systems.library.store.publish import KIND, page_id_of

LONGEST_QUERY = 200
# Pieces of hits that are read for one page of results when filters leave few of them.
MOST_PIECES = 20
# Every database and every time zone can compare these.
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9000, 1, 1)


@dataclass(frozen=True)
class Asked:
    """A search, checked: words, and filters that the user can use."""

    words: str = ""
    space: Space | None = None
    tag: Tag | None = None
    author: User | None = None
    since: date | None = None
    until: date | None = None

    @property
    def has_filters(self) -> bool:
        """True if a filter besides the space is set."""
        return any((self.tag, self.author, self.since, self.until))

    def __bool__(self) -> bool:
        return bool(self.words) or self.space is not None or self.has_filters


@dataclass(frozen=True)
class FoundPage:
    """A page that was found, its path, and what was found marked."""

    page: Page
    path: list[Crumb]
    title_parts: tuple[Segment, ...] = ()
    body_parts: tuple[Segment, ...] = ()


def read(
    user: User, *, q: str = "", space: str = "", tag: str = "", author: str = "", since: str = "", until: str = ""
) -> Asked:
    """Check what was asked for. An unknown value is refused by the name of its filter."""
    return Asked(
        words=clean_text(q)[:LONGEST_QUERY].strip(),
        space=access.space_for(user, _id("space", space)) if space else None,
        tag=actions.tag_for(user, _id("tag", tag)) if tag else None,
        author=_author(author) if author else None,
        since=_day("since", since),
        until=_day("until", until),
    )


def _id(name: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Wrong(name, _("This is not a valid id.")) from None


def _author(address: str) -> User:
    found = User.objects.filter(email=address.strip().lower()[:254].replace("\0", "")).first()
    if found is None:
        raise Wrong("author", _("There is no user with this address."))
    return found


def _day(name: str, text: str) -> date | None:
    try:
        return min(max(date.fromisoformat(text), FIRST_DAY), LAST_DAY) if text else None
    except ValueError:
        raise Wrong(name, _("Enter a date as YYYY-MM-DD.")) from None


def search(user: User, asked: Asked, *, cursor: str = "", limit: int = 30) -> Hits[FoundPage]:
    """Return pages that the user can view: with words the best first, without the last changed first."""
    if not asked:
        return Hits(())
    try:
        return _with_words(user, asked, cursor, limit) if asked.words else _last_changed(user, asked, cursor, limit)
    except InvalidCursor:
        raise Wrong("cursor", _("The cursor is not valid for this list."), code="bad_cursor") from None


def _with_words(user: User, asked: Asked, cursor: str, limit: int) -> Hits[FoundPage]:
    scopes = access.scopes_in(user, [asked.space.pk]) if asked.space else access.scopes_of(user)
    words = f"{asked.words}*" if asked.words[-1].isalnum() else asked.words
    found: list[FoundPage] = []
    for _piece in range(MOST_PIECES):
        # Without filters as many as are missing; with filters most hits may not be wanted.
        hits = find(words, scopes=scopes, kinds=[KIND], limit=limit - len(found), before=cursor or None)
        found += _shown(user, asked, hits.items)
        cursor = hits.next
        if not cursor or len(found) >= limit:
            break
    return Hits(tuple(found), cursor)


def _shown(user: User, asked: Asked, hits: tuple[Hit, ...]) -> list[FoundPage]:
    ids = [UUID(page_id_of(hit.object_id)) for hit in hits]
    rows = _narrowed(access.readable(user).live(), asked).filter(pk__in=ids)
    pages = {page.pk: page for page in _listed(user, rows)}
    ways = _paths(user, list(pages.values()))
    return [
        FoundPage(pages[pk], ways[pk], hit.title_parts, hit.body_parts)
        for pk, hit in zip(ids, hits, strict=True)
        if pk in pages
    ]


def _last_changed(user: User, asked: Asked, cursor: str, limit: int) -> Hits[FoundPage]:
    rows = _narrowed(access.readable(user).live(), asked)
    if cursor:
        at, key = decode_cursor(cursor, 2)
        pk = as_value(Page._meta.pk, key)
        rows = rows.filter(beyond("updated_at", as_moment(at), "id", pk, is_backwards=True))
    found = list(rows.order_by("-updated_at", "-id").values_list("pk", "updated_at")[: limit + 1])
    ids = [pk for pk, _at in found[:limit]]
    pages = {page.pk: page for page in _listed(user, Page.objects.filter(pk__in=ids))}
    ways = _paths(user, list(pages.values()))
    last = encode_cursor([as_text(found[limit - 1][1]), str(found[limit - 1][0])]) if len(found) > limit else ""
    return Hits(tuple(FoundPage(pages[pk], ways[pk]) for pk in ids if pk in pages), last)


def _listed(user: User, rows: PageQuerySet) -> list[Page]:
    return access.sight(user).show(rows.with_type().select_related("space", "updated_by").defer("content"))


def _paths(user: User, pages: list[Page]) -> dict[UUID, list[Crumb]]:
    seen, found = access.sight(user), paths([page.pk for page in pages])
    return {page.pk: seen.way(found[page.pk], page.space_id) for page in pages}


def _narrowed(rows: PageQuerySet, asked: Asked) -> PageQuerySet:
    if asked.space is not None:
        rows = rows.filter(space=asked.space)
    if asked.tag is not None:
        rows = rows.filter(tag_rows__tag=asked.tag)
    if asked.author is not None:
        rows = rows.filter(Q(created_by=asked.author) | Q(updated_by=asked.author))
    if asked.since is not None:
        rows = rows.filter(updated_at__gte=_midnight(asked.since))
    if asked.until is not None:
        rows = rows.filter(updated_at__lt=_midnight(asked.until) + timedelta(days=1))
    return rows


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, get_current_timezone())
