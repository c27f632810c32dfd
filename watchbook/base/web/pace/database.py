"""Pace in the database: one row per host, taken by one conditional UPDATE."""

from __future__ import annotations

import time

from django.db import connection
from django.db.models import Q

from watchbook.base.web.models import HostPace
from watchbook.base.web.pace import MAX_LEASE, MAX_PAUSE, MAX_SPACING, Wait, Wish

DAY_MS = 86_400_000


def _now_ms() -> int:
    return int(time.time() * 1000)


def _ms(seconds: float, most: float) -> int:
    return int(min(max(seconds, 0.0), most) * 1000)


def _is_over(field: str, now: int, most: float) -> Q:
    """Past, or so far ahead that only a clock set back can explain it."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + _ms(most, most)})


class DatabasePace:
    def claim(self, wish: Wish, token: int) -> Wait | None:
        _refuse_transaction()
        own = wish.account_key
        if own and (paused := self.paused_for(wish.site, own)) > 0:
            return Wait(paused)
        now = _now_ms()
        free = _is_over("lease_until_ms", now, MAX_LEASE) & _is_over("next_at_ms", now, MAX_SPACING)
        if not own:
            free &= _is_over("paused_until_ms", now, MAX_PAUSE)
        taken = HostPace.objects.filter(free, host=wish.site, account="").update(
            lease_token=token,
            lease_until_ms=now + _ms(wish.lease_seconds, MAX_LEASE),
            next_at_ms=now + _ms(wish.spacing_seconds, MAX_SPACING),
        )
        if taken:
            return None
        row = HostPace.objects.filter(host=wish.site, account="").first()
        if row is None:
            _make_row(wish.site, "")
            return self.claim(wish, token)
        return _wait(row, now, heeds_pause=not own)

    def release(self, site: str, token: int) -> None:
        HostPace.objects.filter(host=site, account="", lease_token=token).update(lease_until_ms=0)

    def pause(self, site: str, account: str, seconds: float) -> None:
        until = _now_ms() + _ms(seconds, MAX_PAUSE)
        _make_row(site, account)
        HostPace.objects.filter(host=site, account=account, paused_until_ms__lt=until).update(paused_until_ms=until)

    def paused_for(self, site: str, account: str) -> float:
        now = _now_ms()
        until = HostPace.objects.filter(host=site, account=account).values_list("paused_until_ms", flat=True).first()
        left = (until or 0) - now
        return left / 1000 if 0 < left <= _ms(MAX_PAUSE, MAX_PAUSE) else 0.0


def _wait(row: HostPace, now: int, *, heeds_pause: bool) -> Wait:
    firm = max(row.next_at_ms, row.paused_until_ms if heeds_pause else 0) - now
    held = row.lease_until_ms - now
    return Wait(max(firm, held, 0) / 1000, is_firm=firm >= held)


def forget_idle(days: int = 7) -> int:
    """Delete rows of hosts that nobody asked for a while."""
    before = _now_ms() - days * DAY_MS
    idle = HostPace.objects.filter(next_at_ms__lt=before, lease_until_ms__lt=before, paused_until_ms__lt=before)
    return idle.delete()[0]


def _refuse_transaction() -> None:
    """Inside a transaction nobody would see our claim, and its locks would be held while the site takes its time."""
    blocks = connection.atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):
        raise RuntimeError("a site is asked inside a database transaction; ask first, then write")


def _make_row(site: str, account: str) -> None:
    # Ignoring the conflict keeps a transaction around us alive where a caught IntegrityError would not.
    HostPace.objects.bulk_create([HostPace(host=site, account=account)], ignore_conflicts=True)
