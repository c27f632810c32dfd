"""Recognises any text as a keyword: a saved search over everything that the user may see."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from watchbook.base.text import cut
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.models import User
from watchbook.core.registry import Example, Recogniser, source
from watchbook.core.search import query as queries
from watchbook.core.search import saved
from watchbook.core.search.find import find
from watchbook.core.search.models import NAME_LENGTH, SavedSearch
from watchbook.core.sources.records import (
    FALLBACK,
    NEW,
    Added,
    AddError,
    Choice,
    Found,
    Item,
    Link,
    Offer,
    Pasted,
    Pick,
    Refusal,
)
from watchbook.kit.formatting import today

PACKAGE = "watchbook.core.search.recognise"
KEYWORD = "keyword"
SHOWN = 5
RECOGNISER = Recogniser(
    read=f"{PACKAGE}:read",
    offer=f"{PACKAGE}:offer",
    add=f"{PACKAGE}:add",
    examples=(Example(gettext_lazy("Keyword"), "paper lantern", "search", ("keyword",)),),
)


def read(pasted: Pasted) -> Found | Refusal | None:
    asked = queries.read(pasted.text)
    if not asked:
        return Refusal(_("This text has no words. Paste an address or a keyword."), "empty", FALLBACK)
    if asked.is_cut:
        words = _("This text is too long for a keyword: at most %(n)s characters and %(words)s words.")
        return Refusal(words % {"n": queries.MAX_QUERY, "words": queries.MAX_TERMS}, "too_long", FALLBACK)
    title = _("Keyword: %(text)s") % {"text": cut(asked.text, 80)}
    return Found(KEYWORD, asked.text, title, "search", rank=FALLBACK)


def offer(user: User, found: Found) -> Offer:
    """Show what matches now. A keyword costs no requests: it is searched in what the other sources read."""
    page = find(found.key, scopes=viewer_scopes(user), limit=SHOWN)
    items = tuple(
        Item(hit.title, _(source(hit.source).title) if hit.source else "", hit.url_path, hit.occurred_at)
        for hit in page.items
    )
    known = SavedSearch.objects.of(user).filter(query=found.key).first()
    exists = Link(known.name, _search_url(known.query)) if known else None
    return Offer(
        found.title,
        picks=(Pick(found.key, _("All sources"), _("Everything that you may see on this server"), requests=0),),
        items=items,
        items_note=_matched(user, found.key) if items else _("Nothing matches yet. New matches are notified."),
        exists=exists,
        why_not=_("You already watch this keyword.") if exists else "",
        code="exists" if exists else "",
        frequency_note=_("Watchbook checks every new item when it is stored."),
        notify=(NEW,),
        cost_note=_("A keyword sends no requests. It searches what the sources of this server store."),
        first_note=_("Items that match already are not notified."),
    )


def _matched(user: User, query: str) -> str:
    found = saved.preview(user, queries.read(query))
    given = {"n": found.matches, "days": found.days}
    if not found.is_whole:
        return _("more than %(n)s matched in the last %(days)s days") % given
    return (
        ngettext("%(n)s matched in the last %(days)s days", "%(n)s matched in the last %(days)s days", found.matches)
        % given
    )


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    channels = choice.channels if NEW in choice.notify else ()
    name = cut(choice.name or found.key, NAME_LENGTH)
    try:
        made = saved.save(user, name=name, query=found.key, channels=channels)
    except ValidationError as error:
        is_known = SavedSearch.objects.of(user).filter(name=name).exists()
        code, url = ("exists", reverse("search")) if is_known else ("invalid", "")
        raise AddError(" ".join(error.messages), code, url=url) from None
    return [Added(KEYWORD, made.name, _search_url(made.query))]


def watch_new(user: User, choice: Choice, query: str, name: str) -> SavedSearch | None:
    """Save a search for the new items of a place or an author, if the user chose to be notified of them.

    A system calls it for what all members share, so that everyone has channels and rules of their own.
    """
    if NEW not in choice.notify:
        return None
    own = SavedSearch.objects.of(user)
    if known := own.filter(query=queries.read(query).text).first():
        return known
    used = set(own.values_list("name", flat=True))
    name = cut(" ".join(name.split()), NAME_LENGTH - 4)
    free = next(each for each in (name, *(f"{name} {n}" for n in range(2, saved.MOST + 3))) if each not in used)
    try:
        return saved.save(user, name=free, query=query, channels=choice.channels)
    except ValidationError as error:
        raise AddError(" ".join(error.messages)) from None


def from_today(query: str) -> str:
    """The query for items that are published from today on: the first crawl brings older ones, which are not new."""
    return f"{query} after:{today():%Y-%m-%d}"


def _search_url(query: str) -> str:
    return f"{reverse('search')}?{urlencode({'q': query})}"
