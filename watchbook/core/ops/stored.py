"""Settings that operators store in the browser, with the API or with a command. The environment wins over them.

Every value is stored encrypted. Each process keeps the stored values in memory and reads the table again every two
seconds, so that a change applies everywhere without a restart.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock, env
from watchbook.base.crypto import DecryptionError, Writing, decrypt, encrypt, reencrypt
from watchbook.base.env import InvalidSetting, Option
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.notify.options import mail_settings
from watchbook.core.ops import keys
from watchbook.core.ops.models import StoredSetting
from watchbook.core.ops.options import address_settings
from watchbook.core.ops.server import load_options

SECONDS = 2.0
LONGEST = 10_000
MOST_CHANGES = 500  # entries of the audit log that are read for the times of changes

log = logging.getLogger(__name__)


class CannotStore(ValueError):
    """A setting cannot be stored. `field` is its name; the message says why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Setting:
    """One setting as pages, API and commands show it. The value of a secret is never part of it."""

    option: Option[Any]
    changed_at: datetime | None = None
    changed_by: str = ""

    @property
    def name(self) -> str:
        return self.option.name

    @property
    def origin(self) -> str:
        if self.option.is_in_environment:
            return "environment"
        return "stored" if self.changed_at else "default"

    @property
    def value(self) -> Any:
        return None if self.option.secret else self.option.value

    @property
    def text(self) -> str:
        """The value as an operator would write it."""
        return as_text(self.value)


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def storable() -> dict[str, Option[Any]]:
    """Return the options that can be stored, by name, in the order in which they were declared."""
    load_options()
    found = sorted(env.declared().values(), key=lambda option: option.order)
    return {option.name: option for option in found if option.group}


def listed() -> list[Setting]:
    rows = {row.name: row for row in StoredSetting.objects.all()}
    return [
        Setting(option, rows[name].changed_at, rows[name].changed_by) if name in rows else Setting(option)
        for name, option in storable().items()
    ]


def changes() -> dict[str, datetime]:
    """When each setting was last stored, or went back to its default. An environment variable leaves no trace."""
    events = AuditEvent.objects.filter(event="settings.changed").order_by("-pk")
    found = dict(StoredSetting.objects.values_list("name", "changed_at"))
    for subject, at in events.values_list("subject", "happened_at")[:MOST_CHANGES]:
        for name in subject.split(", "):
            found.setdefault(name, at)
    return found


def changed_at(group: str) -> datetime | None:
    """When a setting of this group last changed."""
    known = changes()
    own = (name for name, option in storable().items() if option.group == group)
    return max((known[name] for name in own if name in known), default=None)


def save(
    changes: Mapping[str, str | None], *, user: User | None = None, request: HttpRequest | None = None
) -> list[str]:
    """Store texts by name; None or an empty text goes back to the default. All or nothing. Return what changed."""
    wanted = {name: _checked(name, raw) for name, raw in changes.items()}
    with transaction.atomic():
        changed = [name for name, raw in wanted.items() if _write(name, raw, user)]
        if changed:
            audit.record("settings.changed", actor=user, subject=", ".join(changed), request=request)
    transaction.on_commit(load)
    return changed


def _checked(name: str, raw: str | None) -> str:
    option = storable().get(name)
    if option is None:
        raise CannotStore(name, _("There is no setting of this name that can be stored."))
    if option.is_in_environment:
        raise CannotStore(name, _("The environment variable sets this value. Change it there."))
    text = (raw or "").strip()
    if len(text) > LONGEST or "\0" in text:
        raise CannotStore(name, _("The value is too long or contains a NUL character."))
    try:
        if text:
            option.parse(text)
    except InvalidSetting as error:
        raise CannotStore(name, _wrong_text(error)) from None
    return text


# What the readers of settings say, for pages. Others are shown as they are.
FORMS = {
    "expected a whole number": gettext_lazy("Enter a whole number."),
    "expected a number": gettext_lazy("Enter a number."),
    "expected an http or https address": gettext_lazy("Enter an address that begins with https:// or http://."),
}


def _wrong_text(error: InvalidSetting) -> str:
    """Say what would be right, in the language of the page."""
    words = {
        "choice": _("Choose one of: %(about)s."),
        "least": _("The least value is %(about)s."),
        "most": _("The greatest value is %(about)s."),
        "form": FORMS.get(error.about, _("The value is not valid: %(about)s.")),
    }
    return str(words[error.rule]) % {"about": error.about} if error.rule else str(error)


def _write(name: str, text: str, user: User | None) -> bool:
    kept = StoredSetting.objects.select_for_update().filter(pk=name).first()
    if not text:
        return bool(kept and kept.delete()[0])
    if kept and _opened(kept) == text:
        return False
    StoredSetting.objects.update_or_create(
        name=name,
        defaults={
            "value": encrypt(text, bound_to=bound_to(name)),
            "changed_at": clock.now(),
            "changed_by": user.email if user else "",
        },
    )
    return True


def bound_to(name: str) -> str:
    return f"setting {name}"


def _opened(row: StoredSetting) -> str | None:
    try:
        return decrypt(row.value, bound_to=bound_to(row.name))
    except DecryptionError:
        log.error("the stored setting %s cannot be decrypted: another key encrypted it", row.name)
        return None


def load() -> None:
    """Read the stored values into this process. While the database is away, the last known ones stay."""
    known = storable()
    try:
        rows = list(StoredSetting.objects.filter(name__in=known))
    except DatabaseError:
        return
    opened = {row.name: text for row in rows if (text := _opened(row)) is not None}
    env.use_stored(opened)


def _apply() -> None:
    """Set what Django itself reads from its settings."""
    try:
        derived = {**mail_settings(), **address_settings()}
    except InvalidSetting:
        log.exception("a stored setting cannot be used")
        return
    for name, value in derived.items():
        setattr(settings, name, value)


env.on_stored_change(_apply)


def follow(stop: threading.Event | None = None) -> threading.Thread:
    """Read the stored values again every two seconds, in a thread with a connection of its own."""
    ended = stop or threading.Event()

    def run() -> None:
        while True:
            try:
                load()
                keys.report()
            except Exception:
                log.exception("stored settings could not be read")
            finally:
                connection.close()
            if ended.wait(SECONDS):
                return

    thread = threading.Thread(target=run, name="settings", daemon=True)
    thread.start()
    return thread


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    return reencrypt(StoredSetting.objects.all(), "value", lambda row: bound_to(row.name), writing)
