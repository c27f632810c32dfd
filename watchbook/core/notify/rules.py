"""Rules of notifications: how often, how many, which paths, and not at night.

A rule belongs to one watched item and is found by the thread of its notifications, so that the caller uses
`outbox.notify` as before. What a rule skips stays in the inbox. Errors and alerts are always sent immediately.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from urllib.parse import unquote, urlsplit

from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.notify import options
from watchbook.core.notify.models import Digest, NotificationChannel, NotificationRule

PATHS, PATH_LENGTH = 50, 200
MOST = 1_000_000
PREVIEW_DAYS = 7


@dataclass(frozen=True)
class Quiet:
    """Quiet hours of a day; `until` may be on the next day."""

    start: time
    until: time

    def end(self, local: datetime) -> datetime | None:
        """Return when the quiet hours end that contain this moment of the owner's clock; None outside of them."""
        now = local.time()
        is_inside = self.start <= now < self.until if self.start < self.until else now >= self.start or now < self.until
        if not is_inside:
            return None
        day = local.date() + timedelta(days=1 if now >= self.until else 0)
        return datetime.combine(day, self.until, tzinfo=local.tzinfo).astimezone(UTC)


@dataclass(frozen=True)
class Rule:
    """`digest` empty: as the channel. Paths are patterns with `*`; no `only_paths`: every path."""

    digest: str = ""
    minimum: int = 1
    only_paths: tuple[str, ...] = ()
    skip_paths: tuple[str, ...] = ()
    quiet: Quiet | None = None

    @property
    def has_paths(self) -> bool:
        return bool(self.only_paths or self.skip_paths)

    def admits(self, url: str) -> bool:
        """Return whether a page with this address is notified."""
        if not self.has_paths:
            return True
        path = unquote(urlsplit(url).path) or "/"
        if any(_matches(pattern, path) for pattern in self.skip_paths):
            return False
        return not self.only_paths or any(_matches(pattern, path) for pattern in self.only_paths)


NONE = Rule()


def _matches(pattern: str, path: str) -> bool:
    """Compare by finding one part after the other: unlike a regular expression, it takes linear time."""
    if "*" not in pattern:
        return path == pattern or path.startswith(pattern.rstrip("/") + "/")
    first, *parts, last = pattern.split("*")
    at, end = len(first), len(path) - len(last)
    if at > end or not path.startswith(first) or not path.endswith(last):
        return False
    for part in parts:
        found = path.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def quiet_of(start: time | None, until: time | None) -> Quiet | None:
    """Return the quiet hours; ValueError if one time is missing or both are equal."""
    if start is None and until is None:
        return None
    if start is None or until is None or start == until:
        raise ValueError("both times or none")
    return Quiet(start, until)


def paths_of(text: str) -> tuple[str, ...]:
    """Return the patterns of a text, one a line; ValueError with the line that is none."""
    lines = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    for line in lines[:PATHS]:
        if not line.startswith(("/", "*")) or len(line) > PATH_LENGTH:
            raise ValueError(line)
    if len(lines) > PATHS:
        raise ValueError(lines[PATHS])
    return tuple(line.rstrip("/") if len(line) > 1 and "*" not in line else line for line in lines)


def rule_of(thread: str) -> Rule:
    return rules_of([thread]).get(thread, NONE) if thread else NONE


def rules_of(threads: Collection[str]) -> dict[str, Rule]:
    wanted = [thread for thread in threads if thread]
    return {row.thread: _rule(row) for row in NotificationRule.objects.filter(thread__in=wanted)} if wanted else {}


def _rule(row: NotificationRule) -> Rule:
    return Rule(
        digest=row.digest,
        minimum=row.minimum,
        only_paths=tuple(row.only_paths.splitlines()),
        skip_paths=tuple(row.skip_paths.splitlines()),
        quiet=quiet_of(row.quiet_from, row.quiet_until),
    )


def store(thread: str, rule: Rule) -> None:
    """Keep the rule of an item; a rule that changes nothing needs no row."""
    if rule == NONE:
        NotificationRule.objects.filter(thread=thread).delete()
        return
    NotificationRule.objects.update_or_create(
        thread=thread,
        defaults={
            "digest": rule.digest,
            "minimum": rule.minimum,
            "only_paths": "\n".join(rule.only_paths),
            "skip_paths": "\n".join(rule.skip_paths),
            "quiet_from": rule.quiet.start if rule.quiet else None,
            "quiet_until": rule.quiet.until if rule.quiet else None,
            "updated_at": clock.now(),
        },
    )


def window_end(channel: NotificationChannel, now: datetime, rule: Rule = NONE) -> datetime | None:
    """Return when a notification of this moment is sent, together with others; None: immediately and alone."""
    end = _digest_end(channel, now, rule.digest or channel.digest)
    quiets = [quiet for quiet in (quiet_of(channel.quiet_from, channel.quiet_until), rule.quiet) if quiet]
    for quiet in (*quiets, *quiets[:1]):  # the end of one may lie in the other
        later = quiet.end((end or now).astimezone(channel.zone))
        end = later or end
    return end


def _digest_end(channel: NotificationChannel, now: datetime, digest: str) -> datetime | None:
    """Return the end of the current digest window in the owner's time zone."""
    if digest == Digest.IMMEDIATE:
        return None
    local = now.astimezone(channel.zone)
    if digest == Digest.HOURLY:
        # Subtracting from the instant, not from the wall clock: an hour that is repeated in autumn is two windows.
        into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return now - into + timedelta(hours=1)
    end = local.replace(hour=options.DIGEST_HOUR.value, minute=0, second=0, microsecond=0, fold=0)
    days = 1 if end.astimezone(UTC) <= now else 0
    if digest == Digest.WEEKLY:
        days += -(local.weekday() + days) % 7  # to the next Monday
    return (end.replace(tzinfo=None) + timedelta(days=days)).replace(tzinfo=local.tzinfo).astimezone(UTC)


@dataclass(frozen=True)
class Subject:
    """A watched item whose rule can be set. `events` returns the moments at which it would have notified.

    `counted` names what `minimum` counts, up to `most`, and `counted_note` what becomes of less; empty: it has no
    minimum. `has_paths`: its items have addresses.
    """

    thread: str
    title: str
    url: str
    channels: tuple[NotificationChannel, ...]
    events: Callable[[Rule, datetime], Iterable[datetime]]
    counted: str = ""
    counted_note: str = ""
    most: int = MOST
    has_paths: bool = False


def subject_of(thread: str, user: User) -> Subject | None:
    """Return the item of a thread if this user may set its rule."""
    prefix, _colon, key = thread.partition(":")
    dotted = registry.rule_subjects().get(prefix)
    return registry.load(dotted)(key, user) if dotted and key else None


def preview(subject: Subject, rule: Rule, user: User) -> int:
    """Return how many messages each channel would have got in the last seven days, by the stored events."""
    now = clock.now()
    channel = subject.channels[0] if subject.channels else NotificationChannel(user=user)
    alone, together = 0, set()
    for at in subject.events(rule, now - timedelta(days=PREVIEW_DAYS)):
        window = window_end(channel, at, rule)
        if window is None:
            alone += 1
        elif window <= now:
            together.add(window)
    return alone + len(together)
