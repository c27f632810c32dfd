"""Recognises the address of a single page for the field Add source, previews its text and adds it."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import sandbox
from watchbook.base.invalid import InvalidInput
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts.models import User
from watchbook.core.sources.records import (
    CHANGED,
    POSSIBLE,
    REMOVED,
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
from watchbook.kit.formatting import number_text
from watchbook.systems.pages import actions
from watchbook.systems.pages.fetch import Fetched, fetch_page
from watchbook.systems.pages.models import Page, url_digest
from watchbook.systems.pages.parse.noise import count_words

PAGE = "page"
SHOWN = 5


def read(pasted: Pasted) -> Found | Refusal | None:
    """Every web address may be a page to watch; readings that know the site better come first."""
    if not pasted.url:
        return None
    url = check_url(pasted.url).url
    return Found(PAGE, url, _("Page: %(host)s") % {"host": pasted.host}, "globe", url, rank=POSSIBLE)


def offer(user: User, found: Found) -> Offer:
    """Read the page once and show its first lines. A failure is said with its reason, and nothing is added."""
    known = Page.objects.of(user).filter(url_digest=url_digest(found.key)).first()
    if known is not None:
        link = Link(str(known), reverse("pages:page", args=[known.pk]))
        return Offer(found.title, exists=link, why_not=_("You already watch this page."), code="exists")
    try:
        fetched = fetch_page(found.key)
    except (WebError, sandbox.TaskError) as error:
        return Offer(found.title, why_not=_(error.message), code=error.code)
    if fetched.record is None or fetched.is_missing:
        return Offer(found.title, why_not=_("The site says that this page does not exist."), code="gone")
    return _offer(found, fetched)


def _offer(found: Found, fetched: Fetched) -> Offer:
    record = fetched.record
    assert record is not None
    title = record.fields.get("title") or record.fields.get("h1") or found.key
    words = count_words(record.text)
    lines = [line for line in record.text.split("\n") if line][:SHOWN]
    return Offer(
        found.title,
        facts=(
            ngettext("%(n)s word", "%(n)s words", words) % {"n": number_text(words)},
            *([_("price %(price)s") % {"price": price}] if (price := record.fields.get("price")) else []),
        ),
        picks=(Pick(found.key, title[:200], path=found.key),),
        items=tuple(Item(line[:300], url=found.key) for line in lines),
        items_note=_("main text, read just now"),
        frequencies=actions.FREQUENCIES,
        frequency=actions.FREQUENCY,
        frequency_note=_("A changed page costs a second request, to separate changes from noise."),
        notify=(CHANGED, REMOVED),
    )


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    try:
        page = actions.add_page(user, found.key, interval_minutes=choice.frequency, name=choice.name)
    except InvalidInput as error:
        raise AddError(error.message, error.code) from error
    _notify(page, choice)
    return [Added(PAGE, page.path, reverse("pages:page", args=[page.pk]))]


def _notify(page: Page, choice: Choice) -> None:
    """Pages of one host share their channels: a further page adds to what was chosen for the first one."""
    site = page.site
    is_first = site.pages.count() == 1
    site.notifies_changed = CHANGED in choice.notify or (site.notifies_changed and not is_first)
    site.notifies_removed = REMOVED in choice.notify or (site.notifies_removed and not is_first)
    site.save(update_fields=["notifies_changed", "notifies_removed"])
    if choice.notify:
        site.channels.add(*choice.channels)
