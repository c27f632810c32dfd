"""The log of security events. `record` is called inside the transaction that makes the change: both or neither.

Also here: exports of lists, which are recorded with their filters, and the log as a list for page, export and API.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.base.logs import request_id
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts.models import LONGEST_EMAIL, AuditEvent, normalise_email
from watchbook.kit.lists import Changes, Choice, Column, Days, List, Search, Shown, Table, Text
from watchbook.kit.lists.exports import file_name, respond
from watchbook.kit.lists.filters import Options

# What people read; an event that is not named here shows its own name.
OWN_TITLES: dict[str, str | Promise] = {
    "account.signed_up": _("Signed up"),
    "account.added": _("Account created"),
    "account.deleted": _("Account deleted"),
    "account.verified": _("E-mail verified"),
    "account.role": _("Role changed"),
    "account.enabled": _("Account enabled"),
    "backup.made": _("Backup created"),
    "account.disabled": _("Account disabled"),
    "channel.added": _("Channel added"),
    "channel.changed": _("Channel changed"),
    "channel.removed": _("Channel removed"),
    "channel.resubscribed": _("Recipient subscribed again"),
    "channel.secret_rotated": _("Signing secret rotated"),
    "channel.unsubscribed": _("Recipient unsubscribed"),
    "delivery.replayed": _("Notification resent"),
    "email.changed": _("E-mail changed"),
    "export.made": _("Data exported"),
    "group.added": _("Group created"),
    "group.changed": _("Group renamed"),
    "group.member": _("Group members changed"),
    "group.removed": _("Group deleted"),
    "group.role": _("Group role changed"),
    "invitation.accepted": _("Invitation accepted"),
    "invitation.made": _("Invitation created"),
    "invitation.renewed": _("Invitation renewed"),
    "invitation.revoked": _("Invitation revoked"),
    "job.paused": _("Schedule paused"),
    "job.resumed": _("Schedule resumed"),
    "job.started": _("Job started"),
    "job.stopped": _("Job cancelled"),
    "login.failed": _("Sign-in failed"),
    "login.ok": _("Signed in"),
    "logout": _("Signed out"),
    "mfa.codes": _("Recovery codes created"),
    "mfa.failed": _("Two-factor authentication failed"),
    "mfa.off": _("Two-factor authentication disabled"),
    "mfa.on": _("Two-factor authentication enabled"),
    "mfa.reset": _("Two-factor authentication reset"),
    "migration.replaced": _("Unknown value replaced by an upgrade"),
    "passkey.added": _("Passkey added"),
    "passkey.removed": _("Passkey removed"),
    "passkey.renamed": _("Passkey renamed"),
    "password.changed": _("Password changed"),
    "password.reset": _("Password reset"),
    "settings.changed": _("Settings changed"),
    "sso.connected": _("Connected with single sign-on"),
    "sso.failed": _("Single sign-on failed"),
    "sso.role_kept": _("Last operator kept at single sign-on"),
    "sessions.ended": _("Other sessions ended"),
    "token.made": _("Token created"),
    "token.revoked": _("Token revoked"),
}

# What a user checks who suspects that someone else uses the account. Feeds have tokens, too.
SAFETY = (
    "account.signed_up", "account.verified", "email.changed", "login.ok", "logout", "mfa.codes", "mfa.failed",
    "mfa.off", "mfa.on", "passkey.added", "passkey.removed", "passkey.renamed", "password.changed", "password.reset",
    "sessions.ended", "sso.connected", "token.made", "token.revoked",
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
        actor_email=cut(str(actor.email), LONGEST_EMAIL) if is_known else "",
        subject=cut(subject, 255),
        address=cut(request.META.get("REMOTE_ADDR", ""), 45) if request else "",
        user_agent=cut(request.META.get("HTTP_USER_AGENT", ""), 200) if request else "",
        request_id=request_id()[:128],
        details={name: _plain(value) for name, value in details.items()},
    )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return cut(str(value), 500)


def export(request: HttpRequest, shown: Shown[Any]) -> StreamingHttpResponse | None:
    """The list as a file if its address asks for one (`format=`); the rows are those the caller may see."""
    return export_table(request, shown.table, shown.form) if shown.form else None


def export_table(
    request: HttpRequest, table: Table, form: str, moment: datetime | None = None
) -> StreamingHttpResponse:
    moment = moment or clock.now()
    filters = [f"{title}: {words}" for title, words in table.about]
    record("export.made", subject=file_name(table.name, form, moment), request=request, filters=filters)
    return respond(table, form, moment)


def _events() -> Options:
    return sorted(((name, str(title)) for name, title in titles().items()), key=lambda pair: pair[1])


def _actor(value: str) -> Q:
    return Q(actor_email=normalise_email(value))


AUDIT = List(
    "audit-log",
    filters=(
        Search("q", _("Search audit log"), columns=("subject", "actor_email", "address", "request_id")),
        Choice("event", _("Event"), "event", choices=_events, counted=False),
        Text("who", _("User e-mail"), where=_actor),
        Days("days", _("Date"), "happened_at"),
    ),
    columns=(
        Column("id"),
        Column("happened_at"),
        Column("event"),
        Column("actor_id"),
        Column("actor_email"),
        Column("subject"),
        Column("address"),
        Column("user_agent"),
        Column("request_id"),
        Column("details"),
    ),
    size=50,
    changes=Changes("pk", "happened_at"),
)
