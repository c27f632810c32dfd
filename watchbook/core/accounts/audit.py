"""The log of security events. `record` is called inside the transaction that makes the change: both or neither."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.base.logs import request_id
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts.addresses import LONGEST
from watchbook.core.accounts.models import AuditEvent

# What people read; an event that is not named here shows its own name.
OWN_TITLES: dict[str, str | Promise] = {
    "account.signed_up": _("Signed up"),
    "account.added": _("Account added"),
    "account.deleted": _("Account deleted"),
    "account.verified": _("E-mail verified"),
    "account.role": _("Role changed"),
    "account.enabled": _("Account enabled"),
    "account.disabled": _("Account disabled"),
    "channel.added": _("Channel added"),
    "channel.changed": _("Channel changed"),
    "channel.removed": _("Channel removed"),
    "channel.resubscribed": _("Receiver subscribed again"),
    "channel.secret_rotated": _("New signing secret made"),
    "channel.unsubscribed": _("Receiver unsubscribed"),
    "delivery.replayed": _("Notice sent again"),
    "email.changed": _("E-mail changed"),
    "export.made": _("Data exported"),
    "job.paused": _("Schedule paused"),
    "job.resumed": _("Schedule resumed"),
    "job.started": _("Job started"),
    "job.stopped": _("Job cancelled"),
    "login.failed": _("Sign-in failed"),
    "login.ok": _("Signed in"),
    "logout": _("Signed out"),
    "mfa.codes": _("Recovery codes made"),
    "mfa.failed": _("Second step failed"),
    "mfa.off": _("Second step switched off"),
    "mfa.on": _("Second step switched on"),
    "password.changed": _("Password changed"),
    "password.reset": _("Password reset"),
    "sessions.ended": _("Other sessions ended"),
    "token.made": _("Token made"),
    "token.revoked": _("Token revoked"),
}

# What somebody looks through who wonders whether another person uses the account. Feeds have tokens, too.
SAFETY = (
    "account.signed_up", "account.verified", "email.changed", "login.ok", "logout", "mfa.codes", "mfa.failed",
    "mfa.off", "mfa.on", "password.changed", "password.reset", "sessions.ended", "token.made", "token.revoked",
)  # fmt: skip


def titles() -> dict[str, str | Promise]:
    """The words for every event: the house's own, and what the systems declare."""
    declared = [pair for source in registry.sources() for pair in source.audit_kinds]
    return OWN_TITLES | {event: gettext(title) for event, title in declared}


def record(
    event: str, *, actor: Any = None, subject: str = "", request: HttpRequest | None = None, **details: Any
) -> AuditEvent:
    """Write one row. Without an actor it is the person of the request; details must hold no secret."""
    if actor is None and request is not None and getattr(request, "user", None) is not None:
        actor = request.user
    is_known = actor is not None and getattr(actor, "pk", None) is not None
    return AuditEvent.objects.create(
        happened_at=clock.now(),
        event=event,
        actor_id=actor.pk if is_known else None,
        actor_email=cut(str(actor.email), LONGEST) if is_known else "",
        subject=cut(subject, 255),
        address=cut(request.META.get("REMOTE_ADDR", ""), 45) if request else "",
        user_agent=cut(request.META.get("HTTP_USER_AGENT", ""), 200) if request else "",
        request_id=request_id.current()[:128],
        details={name: _plain(value) for name, value in details.items()},
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return cut(str(value), 500)
