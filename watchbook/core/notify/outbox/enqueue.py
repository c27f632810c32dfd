"""Writes notifications into the outbox in the caller's transaction, combines them into digests, erases their words.

When a digest window has ended, its pending notifications become members of one digest row. The digest is sent and
retried like any notification, with one stable ID; its members get its state.

The text of a digest: the notifications of a window by source, repeats of one item in one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.text import short_id
from watchbook.base.work import crash_point
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.notify import rules
from watchbook.core.notify.message import LISTED, Notification, paragraphs
from watchbook.core.notify.models import Delivery, Digest, Mention, NotificationChannel, State
from watchbook.kit.formatting import moment_text
from watchbook.kit.letter import Counts, Item, Letter, Section, from_json

# What a digest says of its members.
LISTED_COLUMNS = ("event_id", "source", "kind", "subject", "link", "reference")


def notify(channels: Iterable[NotificationChannel], notification: Notification) -> list[Delivery]:
    """Write one row for each active channel that has none for this event. Returns the new rows.

    If the caller's transaction rolls back, nothing is sent; once it commits, nothing is lost.
    """
    now = clock.now()
    wanted = {channel.pk: channel for channel in channels if channel.is_active}
    rows_of_event = Delivery.objects.filter(event_id=short_id(notification.event_id), channel__in=wanted)
    before = set(rows_of_event.values_list("channel_id", flat=True))
    columns = notification.columns()
    rule = rules.rule_of(columns["reference"])
    rows = []
    for pk, channel in wanted.items():
        if pk not in before:
            window = None if notification.urgent else rules.window_end(channel, now, rule)
            rows.append(Delivery(channel=channel, created_at=now, window_at=window, next_at=window or now, **columns))
    # Two writers of one event at the same time: the second insert adds no row and is no error.
    Delivery.objects.bulk_create(rows, ignore_conflicts=True, batch_size=200)
    crash_point("outbox.inserted")
    if not rows:
        return []
    made = list(rows_of_event.exclude(channel__in=before).select_related("channel").order_by("id"))
    Mention.objects.bulk_create(
        [
            Mention(delivery=delivery, kind=named.kind, object_id=named.object_id, line=named.line)
            for delivery in made
            for named in notification.objects
        ],
        batch_size=500,
    )
    return made


def notify_owner(user: User, notification: Notification) -> list[Delivery]:
    """Notify a user by mail to the account's address."""
    return notify([owner_mail_channel(user)], notification)


def owner_mail_channel(user: User) -> NotificationChannel:
    channel, _created = NotificationChannel.objects.get_or_create(
        account_slot=user.pk,
        defaults={"user": user, "name": "account", "channel_type": "email"},
    )
    return channel


def reschedule(channel: NotificationChannel, thread: str = "") -> int:
    """Apply a changed frequency or changed quiet hours to pending notifications, of one item or of all."""
    now = clock.now()
    waiting = Delivery.objects.filter(channel=channel, state=State.PENDING, bundle=None, attempt=0, bypass_digest=False)
    waiting = waiting.exclude(kind=KIND)
    if thread:
        waiting = waiting.filter(reference=thread)
    threads = set(waiting.order_by().values_list("reference", flat=True).distinct())
    known = rules.rules_of(threads)
    count = 0
    for each in threads:
        window = rules.window_end(channel, now, known.get(each, rules.NONE))
        count += waiting.filter(reference=each).update(window_at=window, next_at=window or now)
    return count


@transaction.atomic
def gather(channel: NotificationChannel, window_at: datetime) -> Delivery | None:
    """Create the digest of a window that has ended. None if it exists: late notifications go into the next one."""
    waiting = Delivery.objects.filter(
        channel=channel, state=State.PENDING, bundle=None, window_at__lte=window_at, next_at__lte=clock.now()
    )
    members = list(waiting.order_by("id").only(*LISTED_COLUMNS))
    if not members:
        return None
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        combined = worded(channel, members, window_at)
    digest, made = Delivery.objects.get_or_create(
        channel=channel,
        event_id=combined.event_id,
        defaults={**combined.columns(), "next_at": clock.now()},
    )
    ids = [member.pk for member in members]
    if not made:
        # A later minute, because the minute of a window is part of the digest's ID.
        following = rules.window_end(channel, clock.now()) or clock.now() + timedelta(minutes=1)
        _in_batches(ids, window_at=following, next_at=following)
        return None
    _in_batches(ids, bundle=digest, next_at=None)
    return digest


def reword(digest: Delivery) -> None:
    """Write the text of a digest again from its members, after words of some were erased."""
    channel = NotificationChannel.objects.select_related("user").get(pk=digest.channel_id)
    members = list(digest.members.order_by("id").only(*LISTED_COLUMNS, "window_at"))
    window_at = max((member.window_at for member in members if member.window_at), default=digest.created_at)
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        columns = worded(channel, members, window_at).columns()
    kept = {name: columns[name] for name in ("subject", "text", "html", "content", "payload")}
    Delivery.objects.filter(pk=digest.pk).update(**kept, last_body="")


def _in_batches(ids: Sequence[int], **columns: object) -> None:
    for start in range(0, len(ids), 500):
        rows = Delivery.objects.filter(pk__in=ids[start : start + 500], state=State.PENDING, bundle=None)
        rows.update(**columns)


ERASED = "erased"
# Stored, so the same in every language.
PLACEHOLDER = "[deleted]"
BATCH = 500


@transaction.atomic
def erase(kind: str, object_ids: Collection[str]) -> int:
    """Erase what deliveries say about these objects. Returns the number of deliveries that named one.

    A delivery about one object alone loses all its words, and is skipped if it was not sent yet. A delivery that lists
    several objects loses the lines of these. A digest is written again from its members.
    """
    ids = list(object_ids)
    found: list[Mention] = []
    for start in range(0, len(ids), BATCH):
        named = Mention.objects.filter(kind=kind, object_id__in=ids[start : start + BATCH])
        found += named.select_related("delivery")
    found.sort(key=lambda mention: mention.delivery_id)
    bundles: set[int] = set()
    count = 0
    for _delivery_id, group in groupby(found, key=lambda mention: mention.delivery_id):
        mentions = list(group)
        _erase_in(mentions[0].delivery, mentions)
        count += 1
        if mentions[0].delivery.bundle_id:
            bundles.add(mentions[0].delivery.bundle_id)
    for bundle in Delivery.objects.filter(pk__in=bundles):
        reword(bundle)
    for start in range(0, len(found), BATCH):
        Mention.objects.filter(pk__in=[mention.pk for mention in found[start : start + BATCH]]).delete()
    return count


def _erase_in(delivery: Delivery, mentions: Sequence[Mention]) -> None:
    rows = Delivery.objects.filter(pk=delivery.pk)
    if any(mention.line is None for mention in mentions):
        words: dict[str, Any] = {"subject": PLACEHOLDER, "text": "", "html": "", "content": {}, "link": ""}
        words["payload"] = {ERASED: True}
        rows.update(**words, reference="", last_body="")
        # A delivery that is being sent keeps its lease; the sender has read its text already.
        unsent = rows.filter(state=State.PENDING, live_slot=None)
        unsent.update(state=State.SKIPPED, error_code=ERASED, next_at=None)
        return
    keys = {(mention.kind, mention.object_id) for mention in mentions}
    payload = _without(delivery.payload, keys)
    if delivery.content:
        content = _with_placeholders(delivery.content, keys)
        rows.update(content=content, text=from_json(content).text().strip(), payload=payload, last_body="")
        return
    lines = delivery.text.split("\n")
    for mention in mentions:
        if mention.line is not None and mention.line < len(lines):
            lines[mention.line] = PLACEHOLDER
    text = "\n".join(lines)
    rows.update(text=text, html=paragraphs(text), payload=payload, last_body="")


def _without(value: Any, keys: set[tuple[str, str]]) -> Any:
    """Return the payload without the records that are about one of these objects (`kind` and `id`)."""
    if isinstance(value, dict):
        return {name: _without(entry, keys) for name, entry in value.items()}
    if isinstance(value, list):
        return [_without(entry, keys) for entry in value if not _is_about(entry, keys)]
    return value


def _with_placeholders(value: Any, keys: set[tuple[str, str]]) -> Any:
    """Return the letter with a placeholder for each item about one of these objects: the counts stay true."""
    if isinstance(value, dict):
        if _is_about(value, keys):
            return {"title": PLACEHOLDER}
        return {name: _with_placeholders(entry, keys) for name, entry in value.items()}
    return [_with_placeholders(entry, keys) for entry in value] if isinstance(value, list) else value


def _is_about(entry: Any, keys: set[tuple[str, str]]) -> bool:
    return isinstance(entry, dict) and (str(entry.get("kind")), str(entry.get("id"))) in keys


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
