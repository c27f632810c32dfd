"""Changes in the inbox: checks of one monitor are one row, and the pane lists the first URLs."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.accounts.models import User
from watchbook.core.stream.inbox import Detail, Earlier, GroupWords
from watchbook.core.stream.models import StreamEntry
from watchbook.kit.formatting import number_text
from watchbook.systems.sitemaps.filters import counts_text, sample
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask
from watchbook.systems.sitemaps.views.changes import detail as change_detail
from watchbook.systems.sitemaps.views.log import changes_of

KIND = "sitemap_change"
URLS = 30
EARLIER = 5


def words(entries: Sequence[StreamEntry]) -> GroupWords:
    """Return for example "12 checks, +96 pages"."""
    count, added = len(entries), sum(entry.counts[0] for entry in entries if entry.counts)
    checks = ngettext("%(n)s check", "%(n)s checks", count) % {"n": number_text(count)}
    pages = ngettext("+%(n)s page", "+%(n)s pages", added) % {"n": number_text(added)}
    return GroupWords(entries[0].title, f"{checks}, {pages}" if added else checks)


def detail(entry: StreamEntry, user: User) -> Detail | None:
    """Return the first URLs of a change of the user's own monitor."""
    record = _record(entry, user)
    if record is None:
        return None
    monitor: MonitorTask = record.monitor_task
    found = sample(record, URLS)
    earlier = changes_of(monitor).filter(created_at__lt=record.created_at).order_by("-created_at")[:EARLIER]
    return Detail(
        html=render_to_string("sitemaps/_inbox.html", change_detail(record, found)),
        place=monitor.name,
        place_url=reverse("sitemaps:monitor", args=[monitor.pk]),
        source_link=monitor.sitemap_url,
        history_url=reverse("sitemaps:changes", args=[monitor.pk]),
        evidence=_evidence(record),
        earlier=tuple(
            Earlier(each.created_at, counts_text(each) or _("Changed"), "", reverse("sitemaps:change", args=[each.pk]))
            for each in earlier
        ),
    )


def _evidence(record: ChangeRecord) -> tuple[str, ...]:
    sent = record.sent_count
    if not sent:
        return ()
    return (ngettext("sent to %(n)s channel", "sent to %(n)s channels", sent) % {"n": sent},)


def _record(entry: StreamEntry, user: User) -> ChangeRecord | None:
    if entry.object_kind != KIND:
        return None
    try:
        change_id = UUID(entry.object_id)
    except ValueError:
        return None
    own = ChangeRecord.objects.filter(monitor_task__in=MonitorTask.objects.of(user))
    return own.select_related("monitor_task", "new_snapshot").filter(pk=change_id).first()
