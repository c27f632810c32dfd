"""Cookies themselves: added, replaced, disabled, refreshed, re-encrypted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from watchbook.base.crypto import DecryptionError
from watchbook.base.work import crash_point
from watchbook.systems.notes import encryption
from watchbook.systems.notes.models import Cookie, CookieStatus
from watchbook.systems.notes.store.pool import Lease, today

# What a fresh start means: nothing of the past is held against it.
CLEAN = {
    "status": CookieStatus.ACTIVE, "consecutive_errors": 0, "total_errors": 0, "cooling_until": None,
    "last_error_code": "", "last_error_reason": "",
}  # fmt: skip
BATCH = 50


def put(name: str, platform: str, plain: str, values: dict[str, Any], now: datetime) -> tuple[Cookie, bool]:
    """Add a cookie, or give the one of this name a new secret and a clean record. True when it is new."""
    encrypted, key_id = encryption.encrypt(plain, name=name, platform=platform)
    secret = {"cookie_encrypted": encrypted, "encryption_key_id": key_id, "fingerprint": encryption.fingerprint(plain)}
    try:
        with transaction.atomic():
            made = Cookie.objects.create(
                cookie_name=name, platform=platform, created_at=now, updated_at=now, daily_date=today(now),
                **secret, **values,
            )  # fmt: skip
            return made, True
    except IntegrityError:
        same = Cookie.objects.filter(cookie_name=name, platform=platform)
        same.update(
            **secret, **values, **CLEAN, disabled_at=None, updated_at=now, secret_version=F("secret_version") + 1,
            # Leases of the old secret that are still out must not be held against the new one.
            cooling_round=F("cooling_round") + 1,
        )  # fmt: skip
        return same.get(), False


def reset(cookie: Cookie, now: datetime) -> None:
    """A user confirmed that the cookie is valid."""
    Cookie.objects.filter(pk=cookie.pk).update(**CLEAN, updated_at=now, cooling_round=F("cooling_round") + 1)


def change(cookie: Cookie, values: dict[str, Any], now: datetime) -> None:
    Cookie.objects.filter(pk=cookie.pk).update(**values, updated_at=now)


def switch(cookie: Cookie, *, on: bool, now: datetime) -> None:
    Cookie.objects.filter(pk=cookie.pk).update(disabled_at=None if on else now, updated_at=now)


def store_refreshed(held: Lease, plain: str, now: datetime) -> bool:
    """What the platform set while it was asked. Only over the very secret that was leased."""
    encrypted, key_id = encryption.encrypt(plain, name=held.cookie_name, platform=held.platform)
    same = Cookie.objects.filter(pk=held.cookie_id, secret_version=held.secret_version)
    columns = {"cookie_encrypted": encrypted, "encryption_key_id": key_id, "fingerprint": encryption.fingerprint(plain)}
    return bool(same.update(**columns, updated_at=now, secret_version=F("secret_version") + 1))


@dataclass
class Rotation:
    """`unknown` names cookies whose key is not here: they are left as they are."""

    current_key_id: str
    rotated: int = 0
    already: int = 0
    unknown: list[str] = field(default_factory=list)


def rotate(now: datetime, report: Callable[[Rotation], None] = lambda done: None) -> Rotation:
    """Re-encrypt every cookie with the current key. Each row is a step of its own: killed anywhere, it resumes."""
    done = Rotation(encryption.current_key_id())
    last = 0
    while rows := list(Cookie.objects.filter(pk__gt=last).order_by("pk")[:BATCH]):
        for row in rows:
            _reencrypt_row(row, done, now)
            report(done)
            crash_point("notes.rotated")
        last = rows[-1].pk
    return done


def _reencrypt_row(row: Cookie, done: Rotation, now: datetime) -> None:
    if encryption.is_current(row.cookie_encrypted):
        done.already += 1
        return
    try:
        plain = encryption.decrypt(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)
    except DecryptionError:
        done.unknown.append(row.cookie_name)
        return
    encrypted, key_id = encryption.encrypt(plain, name=row.cookie_name, platform=row.platform)
    # A secret that was replaced in between is encrypted with the current key, and stays.
    same = Cookie.objects.filter(pk=row.pk, secret_version=row.secret_version)
    done.rotated += same.update(
        cookie_encrypted=encrypted, encryption_key_id=key_id, updated_at=now, secret_version=F("secret_version") + 1
    )
