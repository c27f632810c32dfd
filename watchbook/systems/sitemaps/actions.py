"""Actions of users on monitors, called by pages and API.

Monitors of a user, for the removal of an account.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.notify.actions import own_channels
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.sitemaps import options
from watchbook.systems.sitemaps.jobs.check import run_for
from watchbook.systems.sitemaps.jobs.read import Preview, preview_address
from watchbook.systems.sitemaps.models import (
    LONGEST_INTERVAL,
    SHORTEST_INTERVAL,
    MonitorTask,
    MonitorTaskChannel,
    Status,
    url_digest,
)
from watchbook.systems.sitemaps.parse.imports import ImportRow
from watchbook.systems.sitemaps.schedules import InvalidSchedule, parse_quiet, parse_schedule
from watchbook.systems.sitemaps.store.check import next_check

PATTERNS, PATTERN_LENGTH = 50, 500
# `mailto:` or `javascript:`, but neither `localhost:8000` nor `www.example.com:8000`.
OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*:(?!\d)")
TIMED = {"check_interval_minutes", "schedule", "quiet_hours"}
MOST_TAGS, TAG_LENGTH, TAGS_LENGTH = 20, 40, 490
# What a new address changes of a monitor beside the values that were given.
RESET_FIELDS = {
    "current_snapshot", "suspect_hash", "suspect_since", "whole_fetch_at", "status", "error_count", "next_check_at",
}  # fmt: skip


IMPORT_PROBLEMS = {
    "surplus": gettext_noop("The line has more values than there are columns."),
    "damaged": gettext_noop("The line is damaged."),
    "quotes": gettext_noop("A quotation mark is missing or misplaced. The rest of the file was not read."),
}


def with_scheme(address: str) -> str:
    """Add https:// to an address without a scheme. Other schemes are refused later."""
    text = address.strip()
    return text if "://" in text or OTHER_SCHEME.match(text) or not text else f"https://{text}"


def preview(user: User, address: str) -> Preview:
    """Check an address before a monitor is added. Refuse duplicates before any request is sent."""
    url = check_url(with_scheme(address)).url
    _refuse_duplicate(user, url)
    return preview_address(url)


def add_monitor(user: User, values: dict[str, Any], found: Preview | None = None) -> tuple[MonitorTask, Preview]:
    """Check the address, save the monitor and queue its first check.

    An address that was read a moment ago is not read again.
    """
    values = _checked(user, values)
    _refuse_duplicate(user, values["sitemap_url"])
    if MonitorTask.objects.of(user).count() >= options.MONITORS_PER_USER.value:
        raise InvalidInput(
            "", _("You have reached the limit of monitors on this server."), "too_many", is_conflict=True
        )
    if found is None or found.url != values["sitemap_url"]:
        found = preview_address(values["sitemap_url"])
    channels = values.pop("channels", [])
    now = clock.now()
    monitor = MonitorTask(user=user, created_at=now, updated_at=now, next_check_at=now, kind=found.kind, **values)
    try:
        with transaction.atomic():
            monitor.save(force_insert=True)
            set_channels(monitor, channels)
            queue.enqueue_many([run_for(monitor)])
    except IntegrityError:
        raise _already_watched() from None
    return monitor, found


def change_monitor(monitor: MonitorTask, values: dict[str, Any]) -> MonitorTask:
    """Change a monitor. A new address is checked first, starts a new baseline and ends the error state."""
    values = _checked(monitor.user, values)
    channels = values.pop("channels", None)
    moved = values.get("sitemap_url", monitor.sitemap_url) != monitor.sitemap_url
    if moved:
        _refuse_duplicate(monitor.user, values["sitemap_url"])
        preview_address(values["sitemap_url"])
    with transaction.atomic():
        for name, value in values.items():
            setattr(monitor, name, value)
        written = {*values, "updated_at"}
        if moved:
            _reset_baseline(monitor)
            written |= RESET_FIELDS
        elif values.keys() & TIMED and monitor.last_check_at is not None:
            monitor.next_check_at = next_check(monitor, monitor.last_check_at)
            written.add("next_check_at")
        monitor.updated_at = clock.now()
        try:
            # Only what was changed: a check may have ended in between, and what it wrote must stay.
            monitor.save(update_fields=written)
        except IntegrityError:
            raise _already_watched() from None
        if channels is not None:
            set_channels(monitor, channels)
        if moved:
            queue.enqueue_many([run_for(monitor)])
    return monitor


def _reset_baseline(monitor: MonitorTask) -> None:
    monitor.parts.all().delete()
    monitor.current_snapshot = None
    monitor.suspect_hash, monitor.suspect_since, monitor.whole_fetch_at = "", None, None
    if monitor.status == Status.ERROR:
        _make_active(monitor)
    monitor.next_check_at = clock.now()


def pause(monitor: MonitorTask) -> None:
    monitor.status = Status.PAUSED
    _save(monitor, "status")


def resume(monitor: MonitorTask) -> None:
    """Make a paused or failed monitor active and queue a check."""
    if monitor.status != Status.ACTIVE:
        _make_active(monitor)
    _queue_check(monitor)


def retry(monitor: MonitorTask) -> None:
    resume(monitor)


def check_now(monitor: MonitorTask) -> JobRun:
    if monitor.status == Status.PAUSED:
        raise InvalidInput("status", _("The monitor is paused. Resume it first."), "paused", is_conflict=True)
    return _queue_check(monitor)


def delete(monitor: MonitorTask) -> None:
    """Mark a monitor as deleted. The same sitemap can be added again."""
    monitor.deleted_at = clock.now()
    monitor.live_url_digest = None
    _save(monitor, "deleted_at", "live_url_digest")


def restore(monitor: MonitorTask) -> None:
    """Undo a deletion, unless the same sitemap was added again."""
    monitor.deleted_at, monitor.live_url_digest = None, url_digest(monitor.sitemap_url)
    monitor.next_check_at = clock.now()
    try:
        with transaction.atomic():
            _save(monitor, "deleted_at", "live_url_digest", "next_check_at")
    except IntegrityError:
        raise _already_watched() from None


def set_channels(monitor: MonitorTask, channels: Sequence[NotificationChannel]) -> None:
    MonitorTaskChannel.objects.filter(monitor_task=monitor).exclude(channel__in=channels).delete()
    MonitorTaskChannel.objects.bulk_create(
        [MonitorTaskChannel(monitor_task=monitor, channel=channel) for channel in channels], ignore_conflicts=True
    )
    _save(monitor)


def _make_active(monitor: MonitorTask) -> None:
    # `told_error` stays: the channels that got the error also get the recovery.
    monitor.status, monitor.error_count = Status.ACTIVE, 0


def _queue_check(monitor: MonitorTask) -> JobRun:
    monitor.next_check_at = clock.now()
    run = run_for(monitor)
    run.requested_by_id = monitor.user_id
    with transaction.atomic():
        _save(monitor, "status", "error_count", "next_check_at")
        queue.enqueue_many([run])
        return JobRun.objects.get(key=run.key)  # asked twice in one moment it is one run


def _save(monitor: MonitorTask, *names: str) -> None:
    monitor.updated_at = clock.now()
    monitor.save(update_fields=[*names, "updated_at"])


def _checked(user: User, values: dict[str, Any]) -> dict[str, Any]:
    """Validate and normalise the given values."""
    checked = dict(values)
    if "name" in checked:
        checked["name"] = cut(" ".join(clean_text(checked["name"]).split()), 255)
        if not checked["name"]:
            raise InvalidInput("name", _("Enter a name for the monitor."))
    if "sitemap_url" in checked:
        address = check_url(with_scheme(checked["sitemap_url"]))
        checked["sitemap_url"], checked["host"] = address.url, address.site[:255]
        checked["live_url_digest"] = url_digest(address.url)
    if "check_interval_minutes" in checked:
        interval = checked["check_interval_minutes"]
        if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
            raise InvalidInput("check_interval_minutes", _("Choose 15 to 1440 minutes."))
    for name in ("include_patterns", "exclude_patterns"):
        if name in checked:
            checked[name] = _patterns(name, checked[name])
    _check_details(checked)
    if "channel_ids" in checked:
        checked["channels"] = own_channels(user, checked.pop("channel_ids"))
    return checked


def _check_details(checked: dict[str, Any]) -> None:
    """Schedule, quiet hours, folder, tags, notes and responsible user."""
    for name, parse, words in (
        (
            "schedule",
            parse_schedule,
            _("Write a cron line, daily 09:00 or weekly mon 09:00; at most every 15 minutes."),
        ),
        ("quiet_hours", parse_quiet, _("Write quiet hours such as 22:00-07:00.")),
    ):
        if name in checked:
            try:
                checked[name] = parse(checked[name])
            except InvalidSchedule:
                raise InvalidInput(name, words) from None
    for name in ("folder", "owner"):
        if name in checked:
            checked[name] = cut(" ".join(clean_text(checked[name]).split()), 100)
    if "notes" in checked:
        checked["notes"] = cut(clean_text(checked["notes"]).strip(), 5000)
    if "tags" in checked:
        checked["tags"] = joined_tags(checked["tags"])


def joined_tags(given: str | Sequence[str]) -> str:
    """Return tags as they are stored: each once, with commas around."""
    words = given.replace("，", ",").split(",") if isinstance(given, str) else given
    folded = (" ".join(clean_text(word).replace(",", " ").split()).lower() for word in words)
    tags = [tag for tag in dict.fromkeys(folded) if tag]
    made = ",".join(tags)
    if len(tags) > MOST_TAGS or any(len(tag) > TAG_LENGTH for tag in tags) or len(made) > TAGS_LENGTH:
        raise InvalidInput("tags", _("At most 20 tags of 40 characters."))
    return f",{made}," if tags else ""


def edit_many(monitors: Sequence[MonitorTask], values: dict[str, Any], *, add: str = "", remove: str = "") -> int:
    """Change many monitors together: the given values, tags that come and tags that go. All or none."""
    going, coming = set(joined_tags(remove).split(",")), joined_tags(add).split(",")
    with transaction.atomic():
        for monitor in monitors:
            tags = [*(tag for tag in monitor.tag_list if tag not in going), *coming]
            change_monitor(monitor, {**values, "tags": tags})
    return len(monitors)


@dataclass(frozen=True)
class ImportLine:
    """What became of one line: added, known or refused with a reason."""

    line: int
    address: str
    result: str
    reason: str = ""


def import_monitors(user: User, rows: Sequence[ImportRow]) -> list[ImportLine]:
    """Add the monitors of a file, each line for itself. The first check of each reads its address."""
    room = options.MONITORS_PER_USER.value - MonitorTask.objects.of(user).count()
    report = []
    for row in rows:
        address = row.values.get("sitemap_url", "")
        try:
            if row.problem:
                raise InvalidInput("", _(IMPORT_PROBLEMS[row.problem]), row.problem)
            _import_one(user, row.values, has_room=room > 0)
        except InvalidInput as error:
            result = "known" if error.code == "already_watched" else "refused"
            report.append(ImportLine(row.line, address, result, error.message))
        except WebError as error:
            report.append(ImportLine(row.line, address, "refused", _(error.message)))
        else:
            room -= 1
            report.append(ImportLine(row.line, address, "added"))
    return report


def _import_one(user: User, given: dict[str, str], *, has_room: bool) -> None:
    values: dict[str, Any] = dict(given)
    if "sitemap_url" not in values:
        raise InvalidInput("sitemap_url", _("The line has no address."))
    if "check_interval_minutes" in values:
        minutes = values["check_interval_minutes"]
        values["check_interval_minutes"] = int(minutes) if minutes.isascii() and minutes.isdigit() else 0
    for name in ("include_patterns", "exclude_patterns"):
        if name in values:
            values[name] = values[name].replace("|", "\n").splitlines()
    host = values["sitemap_url"].split("://")[-1].split("/")[0]
    values = _checked(user, {"name": host, **values})
    _refuse_duplicate(user, values["sitemap_url"])
    if not has_room:
        raise InvalidInput("", _("You have reached the limit of monitors on this server."), "too_many")
    now = clock.now()
    monitor = MonitorTask(user=user, created_at=now, updated_at=now, next_check_at=now, **values)
    with transaction.atomic():
        monitor.save(force_insert=True)
        queue.enqueue_many([run_for(monitor)])


def _patterns(name: str, given: Sequence[str]) -> list[str]:
    kept = [clean_text(text).strip() for text in given if text.strip()]
    if len(kept) > PATTERNS or any(len(text) > PATTERN_LENGTH for text in kept):
        raise InvalidInput(name, _("At most 50 patterns of 500 characters."))
    return kept


def _refuse_duplicate(user: User, url: str) -> None:
    if MonitorTask.objects.of(user).filter(live_url_digest=url_digest(url)).exists():
        raise _already_watched()


def _already_watched() -> InvalidInput:
    return InvalidInput("sitemap_url", _("You already monitor this sitemap."), "already_watched", is_conflict=True)


def monitor_titles(user: User) -> list[str]:
    return list(MonitorTask.objects.of(user).order_by("name", "pk").values_list("name", flat=True))


def transfer_monitors(user: User, successor: User) -> None:
    """Give the monitors away with their history. Where both watched a sitemap, the leaving user's is deleted."""
    watched = MonitorTask.objects.filter(user=successor).exclude(live_url_digest=None).values_list("live_url_digest")
    both = MonitorTask.objects.filter(user=user, live_url_digest__in=[digest for (digest,) in watched])
    both.update(deleted_at=clock.now(), live_url_digest=None, updated_at=clock.now())
    MonitorTask.objects.filter(user=user).update(user=successor, updated_at=clock.now())
