"""Writes notifications, delivery logs, activity and search documents, in the transaction of the change.

The letter of a change says what changed in words, then lists the pages by the sections of the site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.notify.message import Named
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.notify.outbox import Notification, notify
from watchbook.core.notify.rules import Rule, Subject, rule_of
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream import entries as stream
from watchbook.kit.letter import Counts, Item, Letter, Link, Section
from watchbook.systems.sitemaps.compare import ADDED, MODIFIED, REMOVED, Difference
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, LogStatus, MonitorTask, NotificationLog
from watchbook.systems.sitemaps.records import error_text, lastmod_text
from watchbook.systems.sitemaps.store.lists import Noise, change_entries

SOURCE = "sitemaps"
CHANGE_KIND = "sitemap_change"
CHANGED, ERROR, RECOVERED = "changed", "error", "recovered"
PAYLOAD_URLS = 100
# Changes, and URLs of each, that a preview of a rule reads.
PREVIEWED, PREVIEWED_URLS = 500, 20_000
SEARCH_URLS = 200


def notify_change(
    monitor: MonitorTask, record: ChangeRecord, difference: Difference, noise: Noise, now: datetime
) -> None:
    """Record a change and notify the channels. Frequently changing URLs and aged news are not notified."""
    _log_change(monitor, record, difference, now)
    rule = rule_of(monitor.thread)
    counts = notified_counts(monitor, difference, noise, rule)
    if not counts:
        if record.minor_count and monitor.tell_minor:
            notify_minor(monitor, record, now)
        return
    if counts.added + counts.removed + counts.updated < rule.minimum:
        return
    links = {"change": _change_path(record), "monitor": reverse("sitemaps:monitor", args=[monitor.pk])}
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        notice = Notification(
            event_id=f"sitemaps.change:{record.pk}",
            source=SOURCE,
            kind=CHANGED,
            subject=subject_of(monitor.name, counts),
            letter=change_letter(monitor, record, difference, noise, counts, links, rule),
            payload=_payload(monitor, record, difference, noise, rule),
            link=links["change"],
            thread=monitor.thread,
            objects=[Named(CHANGE_KIND, str(record.pk))],
        )
    _notify(monitor, record, notice, now)


def notified_counts(monitor: MonitorTask, difference: Difference, noise: Noise, rule: Rule) -> Counts:
    """Return how many added, removed and modified URLs this monitor notifies about."""

    def admitted(items: Iterable[dict[str, str | None]], count: int) -> int:
        return sum(rule.admits(str(item["url"])) for item in items) if rule.has_paths else count

    return Counts(
        admitted(difference.items(ADDED), difference.counts[ADDED]) if monitor.tell_added else 0,
        admitted(difference.items(REMOVED), difference.counts[REMOVED]) if monitor.tell_removals else 0,
        admitted(noise.notified, noise.notified_count) if monitor.tell_modified else 0,
    )


def rule_subject(key: str, user: User) -> Subject | None:
    """Return a monitor as an item whose rule of notifications its owner sets."""
    try:
        monitor = MonitorTask.objects.of(user).filter(pk=UUID(key)).first()
    except ValueError:
        return None
    if monitor is None:
        return None
    return Subject(
        thread=monitor.thread,
        title=monitor.name,
        url=reverse("sitemaps:monitor", args=[monitor.pk]),
        channels=tuple(monitor.channels.filter(user=user).select_related("user")),
        events=lambda rule, since: _past_changes(monitor, rule, since),
        counted=_("Minimum number of pages"),
        has_paths=True,
    )


def _past_changes(monitor: MonitorTask, rule: Rule, since: datetime) -> Iterator[datetime]:
    """Yield when stored changes would have been notified by this rule."""
    wanted = {ADDED: monitor.tell_added, REMOVED: monitor.tell_removals, MODIFIED: monitor.tell_modified}
    records = monitor.change_records.filter(created_at__gte=since, change_type=ChangeType.CHANGED)
    for record in records.order_by("-created_at")[:PREVIEWED]:
        counts = {
            ADDED: record.added_count,
            REMOVED: record.removed_count - record.rolled_off_count,
            MODIFIED: record.modified_count - record.noisy_count,
        }
        if rule.has_paths:
            counts = Counter(
                kind
                for kind, entry in islice(change_entries(record), PREVIEWED_URLS)
                if counts[kind] and rule.admits(str(entry["url"]))
            )
        total = sum(counts[kind] for kind, is_wanted in wanted.items() if is_wanted)
        if total and total >= rule.minimum:
            yield record.created_at


def notify_minor(monitor: MonitorTask, record: ChangeRecord, now: datetime) -> None:
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        count = record.minor_count
        words = ngettext("%(count)d minor change", "%(count)d minor changes", count) % {"count": count}
        notice = Notification(
            event_id=f"sitemaps.change:{record.pk}",
            source=SOURCE,
            kind=CHANGED,
            subject=f"{monitor.name}: {words}",
            lines=[_("Only changefreq or priority changed.")],
            payload={"type": "sitemap.minor", "monitor": _monitor(monitor), "minor_count": count},
            link=_change_path(record),
            thread=monitor.thread,
            objects=[Named(CHANGE_KIND, str(record.pk))],
        )
    _notify(monitor, record, notice, now)


def notify_error(monitor: MonitorTask, now: datetime) -> None:
    """Notify once, when the monitor enters the error state."""
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        lines = [
            _("The last %(count)d checks failed: %(error)s")
            % {"count": monitor.error_count, "error": error_text(monitor.last_error)},
            _("Nothing was marked as deleted. Watchbook keeps checking."),
            monitor.sitemap_url,
        ]
        subject = _("%(name)s: checks fail") % {"name": monitor.name}
    _notify_state(monitor, ERROR, subject, lines, now)


def notify_recovery(monitor: MonitorTask, now: datetime) -> None:
    with translation.override(monitor.user.language or settings.LANGUAGE_CODE):
        subject = _("%(name)s: checks succeed again") % {"name": monitor.name}
        lines = [_("The check succeeded. The monitor is active."), monitor.sitemap_url]
    _notify_state(monitor, RECOVERED, subject, lines, now)


def delivery_changed(delivery: Delivery) -> None:
    """Update the notification log of a change in the transaction that changes its delivery."""
    prefix, _colon, record_id = delivery.event_id.partition(":")
    if prefix != "sitemaps.change":
        return
    status = {DeliveryState.PENDING: LogStatus.PENDING, DeliveryState.SENT: LogStatus.SENT}
    logs = NotificationLog.objects.filter(change_record_id=UUID(record_id))
    changed = logs.filter(channel_id=delivery.channel_id).update(
        status=status.get(DeliveryState(delivery.state), LogStatus.FAILED),
        error_message=delivery.last_error or None,
        response_code=delivery.last_status,
        retry_count=max(delivery.attempt - 1, 0),
        **({"sent_at": delivery.sent_at} if delivery.sent_at else {}),
    )
    if changed:
        ChangeRecord.objects.filter(pk=UUID(record_id)).update(**_delivery_counts(logs))


def _delivery_counts(logs: QuerySet[NotificationLog]) -> dict[str, int]:
    """Count deliveries. One whose last attempt failed is failing, whether or not another attempt follows.

    A delivery that failed without an error was skipped on purpose and is not counted.
    """
    failing = Q(error_message__isnull=False) & ~Q(status=LogStatus.SENT)
    return logs.aggregate(
        delivery_count=Count("pk", filter=~Q(status=LogStatus.FAILED, error_message__isnull=True)),
        sent_count=Count("pk", filter=Q(status=LogStatus.SENT)),
        failing_count=Count("pk", filter=failing),
    )


def _notify(monitor: MonitorTask, record: ChangeRecord, notice: Notification, now: datetime) -> None:
    channels = _channels(monitor)
    NotificationLog.objects.bulk_create(
        [NotificationLog(channel=channel, change_record=record, sent_at=now) for channel in channels],
        ignore_conflicts=True,
    )
    record.delivery_count = len(channels)
    record.save(update_fields=["delivery_count"])
    notify(channels, notice)


def _notify_state(monitor: MonitorTask, kind: str, subject: str, lines: list[str], now: datetime) -> None:
    event = f"sitemaps.{kind}:{monitor.pk}:{now:%Y%m%dT%H%M%S}"
    path = reverse("sitemaps:monitor", args=[monitor.pk])
    notify(
        _channels(monitor),
        Notification(
            event_id=event,
            source=SOURCE,
            kind=kind,
            subject=subject,
            lines=lines,
            payload={"type": f"sitemap.{kind}", "monitor": _monitor(monitor), "error": monitor.last_error},
            link=path,
            thread=monitor.thread,
            urgent=True,
        ),
    )
    what = ("monitor", str(monitor.pk))
    _stream(monitor, kind, subject, "", path, now, what=what, event_key=f"{now:%Y%m%dT%H%M%S}")


def _channels(monitor: MonitorTask) -> list[NotificationChannel]:
    return list(monitor.channels.filter(user_id=monitor.user_id, is_active=True))


def _counts(added: int, removed: int, modified: int) -> str:
    parts = [f"{sign}{count:,}" for sign, count in (("+", added), ("−", removed), ("~", modified)) if count]
    return " ".join(parts)


def _payload(
    monitor: MonitorTask, record: ChangeRecord, difference: Difference, noise: Noise, rule: Rule
) -> dict[str, Any]:
    def first(items: Iterable[dict[str, str | None]]) -> list[dict[str, str | None]]:
        return list(islice((item for item in items if rule.admits(str(item["url"]))), PAYLOAD_URLS))

    return {
        "type": "sitemap.changed",
        "monitor": _monitor(monitor),
        "change": {
            "id": str(record.pk),
            "created_at": record.created_at.isoformat(),
            "added_count": record.added_count,
            "removed_count": record.removed_count,
            "modified_count": record.modified_count,
            "noisy_count": record.noisy_count,
            "added": first(difference.items(ADDED)) if monitor.tell_added else [],
            "removed": first(difference.items(REMOVED)) if monitor.tell_removals else [],
            "modified": first(noise.notified) if monitor.tell_modified else [],
            "notes": record.notes[:20],
        },
    }


def _monitor(monitor: MonitorTask) -> dict[str, str]:
    return {"id": str(monitor.pk), "name": monitor.name, "sitemap_url": monitor.sitemap_url}


def _change_path(record: ChangeRecord) -> str:
    return reverse("sitemaps:change", args=[record.pk])


def _log_change(monitor: MonitorTask, record: ChangeRecord, difference: Difference, now: datetime) -> None:
    counts = _counts(record.added_count, record.removed_count, record.modified_count)
    if not counts:
        return
    path = _change_path(record)
    figures = {"added": record.added_count, "removed": record.removed_count, "modified": record.modified_count}
    # The object is the change, so that it can be saved to the library from the inbox.
    what = (CHANGE_KIND, str(record.pk))
    _stream(monitor, CHANGED, monitor.name, counts, path, now, what=what, event_key=str(record.pk), **figures)
    changed = (item for kind in (ADDED, REMOVED) for item in islice(difference.items(kind), SEARCH_URLS))
    # Decoded, because users search for words and not for %E7%81%AF.
    urls = [unquote(str(item["url"])) for item in changed]
    index.put(
        [
            index.Document(
                kind=CHANGE_KIND,
                object_id=str(record.pk),
                scope=f"user:{monitor.user_id}",
                title=f"{monitor.name} {counts}",
                body="\n".join([monitor.sitemap_url, *urls]),
                url_path=path,
                occurred_at=now,
                source=SOURCE,
                attributes=Attributes(site=monitor.sitemap_url),
            )
        ]
    )


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Return the website of stored changes."""
    rows = ChangeRecord.objects.filter(pk__in=list(ids)) if kind == CHANGE_KIND else ChangeRecord.objects.none()
    found = rows.values_list("pk", "monitor_task__sitemap_url")
    return {str(pk): Attributes(site=address) for pk, address in found}


def _stream(
    monitor: MonitorTask,
    kind: str,
    title: str,
    summary: str,
    path: str,
    now: datetime,
    *,
    what: tuple[str, str],
    event_key: str,
    **data: int,
) -> None:
    stream.record(
        [
            stream.Entry(
                source=SOURCE,
                kind=kind,
                title=title,
                summary=summary,
                url_path=path,
                scope=f"user:{monitor.user_id}",
                object_kind=what[0],
                object_id=what[1],
                occurred_at=now,
                data=data,
                event_key=event_key,
            )
        ]
    )


# Pages that are sorted into sections; of a larger change the rest is counted only.
SCANNED = 20_000
SECTIONS, PER_SECTION, LISTED = 8, 20, 60

Entry = tuple[str, dict[str, str | None]]


@dataclass
class _Group:
    counts: Counter[str] = field(default_factory=Counter)
    items: list[Item] = field(default_factory=list)


def subject_of(name: str, counts: Counts) -> str:
    return _("%(name)s: %(event)s") % {"name": name, "event": event_text(counts)}


def event_text(counts: Counts) -> str:
    """Return the counts in words: 6 new pages, 1 removed, 3 updated."""
    added, removed, modified = counts.added, counts.removed, counts.updated
    parts = []
    if added:
        parts.append(ngettext("%(n)s new page", "%(n)s new pages", added) % {"n": f"{added:,}"})
    if removed:
        words = _("%(n)s removed") if parts else ngettext("%(n)s page removed", "%(n)s pages removed", removed)
        parts.append(words % {"n": f"{removed:,}"})
    if modified:
        words = _("%(n)s updated") if parts else ngettext("%(n)s page updated", "%(n)s pages updated", modified)
        parts.append(words % {"n": f"{modified:,}"})
    return _(", ").join(parts)


def change_letter(
    monitor: MonitorTask,
    record: ChangeRecord,
    difference: Difference,
    noise: Noise,
    counts: Counts,
    links: dict[str, str],
    rule: Rule,
) -> Letter:
    """Return the letter of a change; `links` has the addresses of the change and of the monitor."""
    sections, listed = _sections(_entries(difference, noise, counts, rule), links["change"])
    return Letter(
        title=subject_of(monitor.name, counts),
        name=monitor.name,
        lead=tuple(_lead(monitor, record, noise, counts)),
        counts=counts,
        button=Link(_("See the difference"), links["change"]),
        sections=_titled(sections, monitor),
        after=tuple(_after(monitor, noise, sum((counts.added, counts.removed, counts.updated)) - listed, links)),
    )


def _entries(difference: Difference, noise: Noise, counts: Counts, rule: Rule) -> Iterator[Entry]:
    """New before updated before removed, without what the rule leaves out."""
    found = chain(
        (("+", item) for item in difference.items(ADDED) if counts.added),
        (("~", item) for item in noise.notified if counts.updated),
        (("−", item) for item in difference.items(REMOVED) if counts.removed),
    )
    return (entry for entry in found if rule.admits(str(entry[1]["url"])))


def _lead(monitor: MonitorTask, record: ChangeRecord, noise: Noise, counts: Counts) -> Iterator[str]:
    yield _("Watchbook compared %(address)s with the check before.") % {"address": monitor.sitemap_url}
    if any(note["code"] == "confirmed_in_2_checks" for note in record.notes):
        yield _("Confirmed in 2 checks.")
    if noise.restamp and counts.updated:
        yield ngettext(
            "Bulk date update: %(count)d page set to %(lastmod)s",
            "Bulk date update: %(count)d pages set to %(lastmod)s",
            noise.restamp.count,
        ) % {"count": noise.restamp.count, "lastmod": noise.restamp.lastmod}


def _after(monitor: MonitorTask, noise: Noise, missing: int, links: dict[str, str]) -> Iterator[Link]:
    if missing > 0:
        words = ngettext("%(n)s more page is not listed here.", "%(n)s more pages are not listed here.", missing)
        yield Link(words % {"n": f"{missing:,}"}, links["change"])
    if noise.noisy_count and monitor.tell_modified:
        words = ngettext(
            "%(count)d frequently changing URL is not listed here.",
            "%(count)d frequently changing URLs are not listed here.",
            noise.noisy_count,
        )
        yield Link(words % {"count": noise.noisy_count}, f"{links['change']}?kind=noise")
    yield Link(_("Open monitor"), links["monitor"])


def _sections(entries: Iterable[Entry], change_url: str) -> tuple[tuple[Section, ...], int]:
    """Return the largest sections with their first pages, and how many pages they represent."""
    groups: dict[str, _Group] = {}
    listed = 0
    for sign, entry in islice(entries, SCANNED):
        url = str(entry["url"])
        group = groups.setdefault(_section_of(url), _Group())
        group.counts[sign] += 1
        if len(group.items) < PER_SECTION and listed < LISTED:
            group.items.append(_item(sign, url, entry))
            listed += 1
    largest = sorted(groups.items(), key=lambda pair: -pair[1].counts.total())[:SECTIONS]
    shown = [(path, group) for path, group in largest if group.items]
    return (
        tuple(_section(path, group, change_url) for path, group in shown),
        sum(group.counts.total() for _path, group in shown),
    )


def _titled(sections: tuple[Section, ...], monitor: MonitorTask) -> tuple[Section, ...]:
    """Put in the titles of pages that were read before."""
    known = registry.page_titles([item.url for section in sections for item in section.items], monitor.user)
    return tuple(
        replace(section, items=tuple(replace(item, title=known.get(item.url, item.title)) for item in section.items))
        for section in sections
    )


def _section(path: str, group: _Group, change_url: str) -> Section:
    return Section(
        title=unquote(path).strip("/").replace("-", " ").replace("_", " ").capitalize() or _("Top level"),
        note=path,
        counts=Counts(group.counts["+"], group.counts["−"], group.counts["~"]),
        items=tuple(group.items),
        more=group.counts.total() - len(group.items),
        more_url=change_url,
    )


def _section_of(url: str) -> str:
    parts = urlsplit(url).path.split("/")
    return f"/{parts[1]}/" if len(parts) > 2 and parts[1] else "/"


def _item(sign: str, url: str, entry: dict[str, str | None]) -> Item:
    note = ""
    if sign == "~" and entry.get("new_lastmod"):
        note = _("modified %(new)s, before %(old)s") % {
            "new": lastmod_text(entry["new_lastmod"], "full"),
            "old": lastmod_text(entry.get("old_lastmod"), "full"),
        }
    return Item(title=entry.get("title") or path_title(url), url=url, sign=sign, note=note)


def path_title(url: str) -> str:
    """Return the path of a page whose title is unknown."""
    parts = urlsplit(url)
    path = unquote(parts.path) + (f"?{parts.query}" if parts.query else "")
    return path if path not in ("", "/") else parts.netloc
