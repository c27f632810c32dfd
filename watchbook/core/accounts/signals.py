"""Events that allauth tells by signal only: the second step and a changed address."""

from __future__ import annotations

from typing import Any

from allauth.account import signals as account_signals
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa import signals as mfa_signals
from allauth.mfa.models import Authenticator
from django.db.models.signals import post_delete, post_save

from watchbook.core.accounts import actions, audit
from watchbook.core.accounts.models import User


def connect() -> None:
    """Called once when the apps are ready."""
    # The rows themselves are watched, not allauth's signals: those come after the commit.
    post_save.connect(second_step_saved, sender=Authenticator, dispatch_uid="accounts.mfa.saved")
    post_delete.connect(second_step_deleted, sender=Authenticator, dispatch_uid="accounts.mfa.deleted")
    mfa_signals.authentication_failed.connect(second_step_failed, dispatch_uid="accounts.mfa.failed")
    account_signals.email_changed.connect(email_changed, dispatch_uid="accounts.email.changed")


def second_step_saved(sender: Any, instance: Authenticator, created: bool, **_: Any) -> None:
    if created:
        event = "mfa.on" if instance.type == Authenticator.Type.TOTP else "mfa.codes"
        audit.record(event, actor=instance.user, request=context.request)


def second_step_deleted(sender: Any, instance: Authenticator, origin: Any = None, **_: Any) -> None:
    # Recovery codes go with the second step, and both with the account: one event, one row.
    if instance.type == Authenticator.Type.TOTP and not isinstance(origin, User):
        audit.record("mfa.off", actor=instance.user, request=context.request)


def second_step_failed(sender: Any, user: User, request: Any = None, **_: Any) -> None:
    audit.record("mfa.failed", actor=user, request=request)


def email_changed(
    sender: Any,
    user: User,
    from_email_address: EmailAddress | None,
    to_email_address: EmailAddress,
    request: Any = None,
    **_: Any,
) -> None:
    if from_email_address is None or from_email_address.email == to_email_address.email:
        return
    actions.sync_verified(user)
    audit.record(
        "email.changed", actor=user, request=request, before=from_email_address.email, after=to_email_address.email
    )
