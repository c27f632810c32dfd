"""One notification for everything that a run found on a website."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.notify import outbox
from watchbook.core.notify.message import Named
from watchbook.systems.pages.models import Fate, Page, PageEvent, Site
from watchbook.systems.pages.store.pages import KIND, SOURCE

LISTED = 50


def notify_events(site: Site) -> int:
    """Notify of all events that were not notified yet, in the caller's transaction. Returns how many there were."""
    pending = PageEvent.objects.filter(site=site, is_notified=False)
    last = pending.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        return 0
    pending = pending.filter(pk__lte=last)
    wanted = Q(kind=PageEvent.CHANGED) if site.notifies_changed else Q(pk__in=[])
    wanted |= Q(kind__in=Fate.values) if site.notifies_removed else Q(pk__in=[])
    wanted |= Q(kind=PageEvent.RULE)
    total = pending.filter(wanted).count()
    channels = list(site.channels.select_related("user")) if total else []
    if channels:
        events = list(pending.filter(wanted).select_related("page").order_by("pk")[:LISTED])
        with translation.override(site.user.language or settings.LANGUAGE_CODE):
            outbox.notify(channels, _notification(site, events, total, last))
    return pending.update(is_notified=True)


def _notification(site: Site, events: Sequence[PageEvent], total: int, last: int) -> outbox.Notification:
    lines = [line_of(event) for event in events]
    if total > len(events):
        lines.append(_("and %(count)s more") % {"count": total - len(events)})
    words = ngettext("%(name)s: %(n)s page changed", "%(name)s: %(n)s pages changed", total)
    return outbox.Notification(
        event_id=f"pages:{site.pk}:{last}",
        source=SOURCE,
        kind="changed",
        subject=words % {"name": site.name, "n": total},
        lines=lines,
        payload={"site": {"id": site.pk, "name": site.name}, "count": total, "pages": [_fact(one) for one in events]},
        link=reverse("pages:site", args=[site.pk]),
        thread=f"pages:{site.pk}",
        objects=[Named(KIND, str(event.page_id), number) for number, event in enumerate(events)],
    )


def line_of(event: PageEvent) -> str:
    """An event in one line."""
    page: Page = event.page
    name = page.title or page.path
    if event.kind == PageEvent.CHANGED:
        return f"{name}: +{page.words_added} −{page.words_removed} {page.url}"
    if event.kind == PageEvent.RULE:
        return _("Rule %(rule)s: %(page)s") % {"rule": event.rule, "page": f"{name} {page.url}"}
    if event.kind == Fate.MOVED:
        return _("Moved: %(old)s → %(new)s") % {"old": page.url, "new": page.moved_to}
    words = {Fate.GONE.value: _("Gone: %(url)s"), Fate.DELISTED.value: _("No longer listed: %(url)s")}
    return words[event.kind] % {"url": page.url}


def _fact(event: PageEvent) -> dict[str, object]:
    page: Page = event.page
    return {
        "kind": KIND, "id": str(page.pk), "event": event.kind, "url": page.url, "title": page.title,
        "version": event.version or None, "moved_to": page.moved_to or None,
    }  # fmt: skip
