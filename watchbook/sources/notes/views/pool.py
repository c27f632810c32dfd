"""The cookie pool as a page shows it: states as they are at this moment, uses, keys, the breaker. Reads only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Sum
from django.utils.translation import gettext as _

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.sources.notes import options, vault
from watchbook.sources.notes.models import Breaker, Cookie, CookieLease, CookieStatus, under_limit
from watchbook.sources.notes.rules import LOCK_TIMEOUT_MINUTES, MAX_CONSECUTIVE_ERRORS, MAX_TOTAL_ERRORS
from watchbook.sources.notes.store.charging import Standing, rest
from watchbook.sources.notes.store.pool import STANDING, today
from watchbook.sources.notes.views.words import reason_text

CIPHERS = {"v2": "AES-256-GCM", "v1": "Fernet, AES-128"}


@dataclass(frozen=True)
class Uses:
    """`open_count` leases are out at this moment; the rest is of the last hour."""

    open_count: int = 0
    reserved: int = 0
    since: datetime | None = None
    succeeded: int = 0
    failed: int = 0

    @property
    def rate(self) -> int | None:
        """Of a hundred reads so many were answered; none without reads."""
        asked = self.succeeded + self.failed
        return round(100 * self.succeeded / asked) if asked else None


class Line:
    """One cookie, with what time alone has changed about it taken into account."""

    def __init__(self, row: Cookie, now: datetime, uses: Uses) -> None:
        self.row = row
        self.uses = uses
        self.standing = rest(Standing(**{name: getattr(row, name) for name in STANDING}), now)
        # The count of another day is not today's.
        self.used = row.daily_used if row.daily_date == today(now) else 0

    @property
    def badge(self) -> Badge:
        return badges.find("cookie", self.standing.status)

    @property
    def is_cooling(self) -> bool:
        return self.standing.status == CookieStatus.COOLING

    @property
    def left(self) -> int:
        return max(self.row.daily_limit - self.used, 0)

    @property
    def bar(self) -> str:
        if not self.row.is_enabled or self.standing.status in {CookieStatus.INVALID, CookieStatus.BANNED}:
            return "bar--off"
        return "bar--warn" if self.is_cooling or not self.left else ""

    @property
    def errors(self) -> dict[str, int]:
        return {
            "row": self.standing.consecutive_errors,
            "most_in_a_row": MAX_CONSECUTIVE_ERRORS,
            "total": self.standing.total_errors,
            "most": MAX_TOTAL_ERRORS,
        }

    @property
    def trouble(self) -> str:
        row = self.row
        return reason_text(row.last_error_code, row.last_error_reason) if row.last_error_code else ""


def lines_of(rows: list[Cookie], now: datetime) -> list[Line]:
    """Two queries for any number of cookies."""
    uses = _uses([row.pk for row in rows], now)
    return [Line(row, now, uses.get(row.pk, Uses())) for row in rows]


def _uses(keys: list[int], now: datetime) -> dict[int, Uses]:
    leases = CookieLease.objects.filter(cookie_id__in=keys).order_by().values("cookie_id")
    # A lease that a crash left open is not out any more after the time of a lock.
    out = leases.filter(ended_at=None, leased_at__gte=now - timedelta(minutes=LOCK_TIMEOUT_MINUTES))
    late = leases.filter(leased_at__gte=now - timedelta(hours=1), ended_at__isnull=False)
    found: dict[int, dict[str, Any]] = {key: asdict(Uses()) for key in keys}
    for row in out.annotate(n=Count("pk"), held=Sum("reserved"), first=Min("leased_at")):
        found[row["cookie_id"]] |= {"open_count": row["n"], "reserved": row["held"], "since": row["first"]}
    for row in late.annotate(good=Sum("succeeded"), bad=Sum("failed")):
        found[row["cookie_id"]] |= {"succeeded": row["good"], "failed": row["bad"]}
    return {key: Uses(**values) for key, values in found.items()}


def summary(now: datetime) -> dict[str, Any]:
    """Figures over the whole pool, however long it is: a handful of queries."""
    usable = Cookie.objects.usable(now)
    todays = usable.filter(daily_date=today(now))
    left = usable.aggregate(all=Sum("daily_limit"))["all"] or 0
    # Cookies that were last used on another day have all of their quota.
    used = todays.aggregate(all=Sum("daily_used"))["all"] or 0
    ready = (
        todays.filter(under_limit()).count() + usable.exclude(daily_date=today(now)).filter(daily_limit__gt=0).count()
    )
    cooling = Cookie.objects.enabled().filter(status=CookieStatus.COOLING, cooling_until__gt=now)
    figures = cooling.aggregate(n=Count("pk"), until=Min("cooling_until"))
    out = CookieLease.objects.filter(ended_at=None, leased_at__gte=now - timedelta(minutes=LOCK_TIMEOUT_MINUTES))
    return {
        "all": Cookie.objects.count(),
        "ready": 0 if vault.why_closed() else ready,
        "cooling": figures["n"],
        "cooling_until": figures["until"],
        "leased": out.count(),
        "left": max(left - used, 0),
        "limit": left,
        "breaker": Breaker.objects.filter(open_until__gt=now).order_by("pk").first(),
        **_keys(),
    }


def _keys() -> dict[str, Any]:
    closed = vault.why_closed()
    counted = dict(Cookie.objects.order_by().values_list("encryption_key_id").annotate(n=Count("pk")))
    current = "" if closed else vault.current_key_id()
    known = set() if closed else set(vault.masters())
    return {
        "pool_closed": _(closed) if closed else "",
        "cipher": options.COOKIE_CIPHER.value,
        "cipher_words": CIPHERS[options.COOKIE_CIPHER.value],
        "key_id": current,
        "old_keys": sorted((key, count, key in known) for key, count in counted.items() if key != current),
        "old_count": sum(count for key, count in counted.items() if key != current),
    }
