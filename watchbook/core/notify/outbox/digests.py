"""The text of a digest: the notifications of a window by source, repeats of one item in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core import registry
from watchbook.core.notify.message import LISTED, Notification
from watchbook.core.notify.models import Delivery, Digest, NotificationChannel
from watchbook.kit.formatting import moment_text
from watchbook.kit.letter import Counts, Item, Letter, Section, from_json

KIND, SOURCE = "digest", "notify"
# Members whose content is read; the rest is counted.
READ = 300


def worded(channel: NotificationChannel, members: Sequence[Delivery], window_at: datetime) -> Notification:
    """Return the digest of these members, in the language and time zone of the moment."""
    counts: dict[str, int] = {}
    for member in members:
        kind = f"{member.source}.{member.kind}"
        counts[kind] = counts.get(kind, 0) + 1
    listed = [
        {"event_id": m.event_id, "type": f"{m.source}.{m.kind}", "subject": m.subject, "link": m.link} for m in members
    ]
    with timezone.override(channel.zone):
        title = _title(channel, window_at)
        letter = _letter(title, members)
    number = ngettext("%(count)s notification", "%(count)s notifications", len(members)) % {"count": len(members)}
    return Notification(
        event_id=f"digest:{channel.pk}:{window_at.astimezone(UTC):%Y-%m-%dT%H:%MZ}",
        source=SOURCE,
        kind=KIND,
        subject=_("%(name)s: %(event)s") % {"name": title, "event": number},
        letter=letter,
        payload={
            "count": len(members),
            "counts": counts,
            "until": window_at.astimezone(channel.zone).isoformat(),
            "notices": listed,
        },
        link=f"/channels/{channel.pk}/",
        thread=f"digest:{channel.pk}",
        urgent=True,
    )


def _title(channel: NotificationChannel, window_at: datetime) -> str:
    name = {
        Digest.HOURLY: _("Hourly digest"),
        Digest.DAILY: _("Daily digest"),
        Digest.WEEKLY: _("Weekly digest"),
    }.get(Digest(channel.digest), _("Digest"))
    return _("%(name)s, %(time)s") % {"name": name, "time": moment_text(window_at)}


def _letter(title: str, members: Sequence[Delivery]) -> Letter:
    contents = dict(
        Delivery.objects.filter(pk__in=[member.pk for member in members[:READ]]).values_list("pk", "content")
    )
    letters = {member.pk: from_json(contents[member.pk]) for member in members[:READ] if contents.get(member.pk)}
    total = _total([letter.counts for letter in letters.values()])
    figures = [
        (len(members), ngettext("notification", "notifications", len(members))),
        (total.added, _("new")),
        (total.removed, _("removed")),
        (total.updated, _("updated")),
    ]
    return Letter(
        title=title,
        figures=tuple((f"{number:,}", words) for number, words in figures if number),
        sections=tuple(_sections(members, letters)),
    )


def _total(counts: Sequence[Counts]) -> Counts:
    return Counts(
        sum(each.added for each in counts), sum(each.removed for each in counts), sum(each.updated for each in counts)
    )


def _sections(members: Sequence[Delivery], letters: dict[int, Letter]) -> Iterator[Section]:
    room = LISTED
    by_source = sorted(members, key=lambda member: (member.source, member.reference, member.pk))
    for source, group in groupby(by_source, key=lambda member: member.source):
        threads = [list(same) for _reference, same in groupby(group, key=_thread)]
        shown = threads[:room]
        room -= len(shown)
        yield Section(
            title=_source_title(source),
            items=tuple(_item(same, letters) for same in shown),
            more=sum(len(same) for same in threads[len(shown) :]),
        )


def _thread(member: Delivery) -> object:
    return member.reference or member.pk


def _source_title(slug: str) -> str:
    found = next((each for each in registry.sources() if each.slug == slug), None)
    own = {"search": _("Saved searches"), "alerts": _("Alerts"), "notify": _("Channels")}
    return _(found.title) if found else own.get(slug, slug)


def _item(same: Sequence[Delivery], letters: dict[int, Letter]) -> Item:
    """One line for all notifications of one item: its name, its counts and its first titles."""
    newest = same[-1]
    known = [letters[each.pk] for each in same if each.pk in letters]
    if not known or not known[-1].name:
        side = ngettext("%(count)s notification", "%(count)s notifications", len(same)) % {"count": len(same)}
        return Item(newest.subject, here=newest.link, side=side if len(same) > 1 else "")
    titles = [item.title for letter in known for item in letter.items]
    more = len(titles) + sum(letter.more for letter in known) - 1
    note = titles[0] if titles else ""
    if more > 0:
        note = _("%(title)s and %(count)s more") % {"title": note, "count": f"{more:,}"}
    return Item(
        known[-1].name,
        here=newest.link,
        note=note or newest.subject,
        counts=_total([letter.counts for letter in known]),
    )
