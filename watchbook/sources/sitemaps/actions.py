"""What a person does with monitors; pages and API alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.base.web.address import check_url
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.notify.models import NotificationChannel
from watchbook.sources.sitemaps import options
from watchbook.sources.sitemaps.jobs.due import run_for
from watchbook.sources.sitemaps.jobs.looking import Look, look_at
from watchbook.sources.sitemaps.models import (
    LONGEST_INTERVAL,
    SHORTEST_INTERVAL,
    MonitorTask,
    MonitorTaskChannel,
    Status,
    url_digest,
)
from watchbook.sources.sitemaps.store.states import next_check

PATTERNS, PATTERN_LENGTH = 50, 500
# What a new address changes of a monitor beside the values that were given.
BEGUN_ANEW = {
    "current_snapshot", "suspect_hash", "suspect_since", "whole_fetch_at", "status", "error_count", "told_error",
    "next_check_at",
}  # fmt: skip


class WrongMonitor(Exception):
    """A value cannot be used. `field` names it, the message says what would be right."""

    def __init__(self, field: str, message: str, code: str = "invalid") -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.code = code


def look_first(user: Any, address: str) -> Look:
    """What adding this address would find. Refuses what is watched already before anybody is asked."""
    url = check_url(clean_text(address).strip()).url
    _refuse_twice(user, url)
    return look_at(url)


def add_monitor(user: Any, values: dict[str, Any], look: Look | None = None) -> tuple[MonitorTask, Look]:
    """Look at the address first; only what can be read is watched. The first check follows at once.

    A look at this very address that was taken a moment ago is not taken again.
    """
    values = _checked(user, values)
    _refuse_twice(user, values["sitemap_url"])
    if MonitorTask.objects.of(user).count() >= options.MONITORS_PER_USER.value:
        raise WrongMonitor("", _("You have as many monitors as this installation allows."), "too_many")
    if look is None or look.url != values["sitemap_url"]:
        look = look_at(values["sitemap_url"])
    channels = values.pop("channels", [])
    now = clock.now()
    monitor = MonitorTask(user=user, created_at=now, updated_at=now, next_check_at=now, kind=look.kind, **values)
    try:
        with transaction.atomic():
            monitor.save(force_insert=True)
            set_channels(monitor, channels)
            queue.enqueue_many([run_for(monitor)])
    except IntegrityError:
        raise _twice() from None
    return monitor, look


def change_monitor(monitor: MonitorTask, values: dict[str, Any]) -> MonitorTask:
    """A new address begins a new baseline and makes a monitor in error active at once."""
    values = _checked(monitor.user, values)
    channels = values.pop("channels", None)
    moved = values.get("sitemap_url", monitor.sitemap_url) != monitor.sitemap_url
    if moved:
        _refuse_twice(monitor.user, values["sitemap_url"])
        look_at(values["sitemap_url"])
    with transaction.atomic():
        for name, value in values.items():
            setattr(monitor, name, value)
        written = {*values, "updated_at"}
        if moved:
            _begin_anew(monitor)
            written |= BEGUN_ANEW
        elif "check_interval_minutes" in values and monitor.last_check_at is not None:
            monitor.next_check_at = next_check(monitor, monitor.last_check_at)
            written.add("next_check_at")
        monitor.updated_at = clock.now()
        try:
            # Only what was changed: a check may have ended meanwhile, and what it wrote must stay.
            monitor.save(update_fields=written)
        except IntegrityError:
            raise _twice() from None
        if channels is not None:
            set_channels(monitor, channels)
        if moved:
            queue.enqueue_many([run_for(monitor)])
    return monitor


def _begin_anew(monitor: MonitorTask) -> None:
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
    """Back to work, from pause or from error."""
    if monitor.status != Status.ACTIVE:
        _make_active(monitor)
    _check_soon(monitor)


def retry(monitor: MonitorTask) -> None:
    resume(monitor)


def check_now(monitor: MonitorTask) -> JobRun:
    if monitor.status == Status.PAUSED:
        raise WrongMonitor("status", _("The monitor is paused. Resume it first."), "paused")
    return _check_soon(monitor)


def delete(monitor: MonitorTask) -> None:
    """Gone from every list; the same sitemap can be added again."""
    monitor.deleted_at = clock.now()
    monitor.live_url_digest = None
    _save(monitor, "deleted_at", "live_url_digest")


def restore(monitor: MonitorTask) -> None:
    """Take a deletion back, unless the same sitemap was added again since."""
    monitor.deleted_at, monitor.live_url_digest = None, url_digest(monitor.sitemap_url)
    monitor.next_check_at = clock.now()
    try:
        with transaction.atomic():
            _save(monitor, "deleted_at", "live_url_digest", "next_check_at")
    except IntegrityError:
        raise _twice() from None


def set_channels(monitor: MonitorTask, channels: Sequence[NotificationChannel]) -> None:
    MonitorTaskChannel.objects.filter(monitor_task=monitor).exclude(channel__in=channels).delete()
    MonitorTaskChannel.objects.bulk_create(
        [MonitorTaskChannel(monitor_task=monitor, channel=channel) for channel in channels], ignore_conflicts=True
    )


def own_channels(user: Any, ids: Sequence[UUID]) -> list[NotificationChannel]:
    """A person's own channels; somebody else's is as unknown as one that never was."""
    found = list(NotificationChannel.objects.of(user).filter(pk__in=ids))
    if len(found) != len(set(ids)):
        raise WrongMonitor("channel_ids", _("One of these channels does not exist."))
    return found


def _make_active(monitor: MonitorTask) -> None:
    monitor.status, monitor.error_count = Status.ACTIVE, 0
    monitor.told_error = False


def _check_soon(monitor: MonitorTask) -> JobRun:
    monitor.next_check_at = clock.now()
    run = run_for(monitor)
    run.requested_by_id = monitor.user_id
    with transaction.atomic():
        _save(monitor, "status", "error_count", "told_error", "next_check_at")
        queue.enqueue_many([run])
        return JobRun.objects.get(key=run.key)  # asked twice in one moment it is one run


def _save(monitor: MonitorTask, *names: str) -> None:
    monitor.updated_at = clock.now()
    monitor.save(update_fields=[*names, "updated_at"])


def _checked(user: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The values as they are stored, or what is wrong with one of them."""
    checked = dict(values)
    if "name" in checked:
        checked["name"] = cut(" ".join(clean_text(checked["name"]).split()), 255)
        if not checked["name"]:
            raise WrongMonitor("name", _("Give the monitor a name."))
    if "sitemap_url" in checked:
        address = check_url(clean_text(checked["sitemap_url"]).strip())
        checked["sitemap_url"], checked["host"] = address.url, address.site[:255]
        checked["live_url_digest"] = url_digest(address.url)
    if "check_interval_minutes" in checked:
        interval = checked["check_interval_minutes"]
        if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
            raise WrongMonitor("check_interval_minutes", _("Choose 15 to 1440 minutes."))
    for name in ("include_patterns", "exclude_patterns"):
        if name in checked:
            checked[name] = _patterns(name, checked[name])
    if "channel_ids" in checked:
        checked["channels"] = own_channels(user, checked.pop("channel_ids"))
    return checked


def _patterns(name: str, given: Sequence[str]) -> list[str]:
    kept = [clean_text(text).strip() for text in given if text.strip()]
    if len(kept) > PATTERNS or any(len(text) > PATTERN_LENGTH for text in kept):
        raise WrongMonitor(name, _("At most 50 patterns of 500 characters."))
    return kept


def _refuse_twice(user: Any, url: str) -> None:
    if MonitorTask.objects.of(user).filter(live_url_digest=url_digest(url)).exists():
        raise _twice()


def _twice() -> WrongMonitor:
    return WrongMonitor("sitemap_url", _("You watch this sitemap already."), "already_watched")
