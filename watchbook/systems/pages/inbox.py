"""Changes of web pages in the inbox: the fields that changed, and the words of the version and the one before."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Compared, Detail
from watchbook.core.stream.models import StreamEntry
from watchbook.kit.diff import compare
from watchbook.systems.pages.models import Page, PageVersion
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.store.pages import masking, text_of
from watchbook.systems.pages.views.history import field_rows

KIND, CHANGED = "web_page", "changed"


def detail(entry: StreamEntry, user: User) -> Detail | None:
    """Pages of the user's own websites."""
    if entry.object_kind != KIND or not (entry.object_id.isascii() and entry.object_id.isdigit()):
        return None
    page = Page.objects.of(user).select_related("site").filter(pk=min(int(entry.object_id), 2**63 - 1)).first()
    if page is None:
        return None
    html, compared = _change(entry, page) if entry.kind == CHANGED else ("", None)
    return Detail(
        html=html,
        compared=compared,
        place=page.site.name,
        place_url=reverse("pages:site", args=[page.site_id]),
        source_link=page.url,
        history_url=reverse("pages:page", args=[page.pk]),
        evidence=(page.path,),
    )


def _change(entry: StreamEntry, page: Page) -> tuple[str, Compared | None]:
    """The version whose number is the key of the entry, and the one before; neither is there for ever."""
    number = entry.event_key
    rows = PageVersion.objects.filter(page=page).order_by("-number")
    known = number.isascii() and number.isdigit() and len(number) < 9
    new, old = [*(rows.filter(number__lte=int(number))[:2] if known else ()), None, None][:2]
    if new is None or old is None or str(new.number) != number:
        return "", None
    mask = Mask.of(page.mask)
    masked = masking(page.site, mask)
    difference = compare(masked.text(text_of(old)), masked.text(text_of(new)))
    names = [_("Version %(n)s") % {"n": one.number} for one in (old, new)]
    fields = [row for row in field_rows(old.fields, new.fields, mask) if not row.is_same]
    html = render_to_string("pages/_inbox.html", {"fields": fields}) if fields else ""
    return html, None if difference.is_empty else Compared(difference, *names)
