"""What is done to accounts, each with its line in the audit log in the same transaction."""

from __future__ import annotations

import secrets
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import audit, tokens
from watchbook.core.accounts.models import User, normalise_email

LONGEST_PASSWORD = 1024
# allauth's own column is one character shorter than the seed's.
LONGEST_EMAIL = 254


def clean_email(email: str) -> str:
    """The form in which an address is kept. Checked again after normalising: NFKC can make an @ out of another sign."""
    email = normalise_email(email)
    validate_email(email)
    if len(email) > LONGEST_EMAIL:
        raise ValidationError(_("The address is too long: at most %(n)s characters.") % {"n": LONGEST_EMAIL})
    return email


def check_password(password: str, user: User | None = None) -> None:
    """Raises ValidationError for a new password that cannot be taken."""
    if "\0" in password:
        raise ValidationError(_("A password cannot hold the character NUL."))
    if len(password.encode("utf-8", "surrogatepass")) > LONGEST_PASSWORD:
        raise ValidationError(_("The password is too long: at most %(n)s bytes.") % {"n": f"{LONGEST_PASSWORD:,}"})
    validate_password(password, user)


def add(email: str, password: str | None, *, operator: bool = False, verified: bool = False, actor: Any = None) -> User:
    """A new account, made by an operator or at the command line."""
    email = clean_email(email)
    if password is not None:
        check_password(password, User(email=email))
    try:
        with transaction.atomic():
            user = User.objects.create_user(email, password, is_staff=operator, is_verified=verified)
            audit.record("account.added", actor=actor, subject=email, operator=operator)
    except IntegrityError:
        raise InvalidInput(
            "email", _("There is already an account %(email)s.") % {"email": email}, "exists", is_conflict=True
        ) from None
    return user


def set_password(
    user: User, password: str, *, event: str, request: HttpRequest | None, keep_tokens: bool = False
) -> None:
    """Other sessions end by themselves: they carry a digest of the old hash. Tokens are revoked unless kept."""
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        audit.record(event, actor=user, request=request)
        if not keep_tokens:
            tokens.revoke_all(user, actor=user, request=request)


def end_other_sessions(user: User, password: str, *, request: HttpRequest | None) -> None:
    """The same password under a new salt: every session but the one that is refreshed afterwards is dead."""
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        audit.record("sessions.ended", actor=user, request=request)


def set_role(user: User, *, operator: bool, actor: Any, request: HttpRequest | None = None) -> None:
    with transaction.atomic():
        user = _held(user)
        if user.is_staff == operator:
            return
        if not operator:
            _need_another_operator(user)
        user.is_staff = operator
        user.save(update_fields=["is_staff"])
        audit.record("account.role", actor=actor, subject=user.email, request=request, operator=operator)


def set_active(user: User, *, active: bool, actor: Any, request: HttpRequest | None = None) -> None:
    with transaction.atomic():
        user = _held(user)
        if user.is_active == active:
            return
        if not active:
            _need_another_operator(user)
        user.is_active = active
        user.save(update_fields=["is_active"])
        event = "account.enabled" if active else "account.disabled"
        audit.record(event, actor=actor, subject=user.email, request=request)


def check_can_leave(user: User) -> None:
    """Raise InvalidInput for the only operator."""
    _need_another_operator(_held(user))


def delete(user: User, *, actor: Any = None, request: HttpRequest | None = None, **details: Any) -> None:
    """Delete the row of the account, and with it everything that belongs to it alone."""
    with transaction.atomic():
        user = _held(user)
        _need_another_operator(user)
        audit.record("account.deleted", actor=actor or user, subject=user.email, request=request, **details)
        user.delete()


def confirm_email(user: User, *, actor: Any, request: HttpRequest | None = None) -> None:
    """An operator vouches for the address, where no mail can."""
    with transaction.atomic():
        EmailAddress.objects.filter(user_id=user.pk, email=user.email).update(verified=True)
        sync_verified(user)
        audit.record("account.verified", actor=actor, subject=user.email, request=request)


def sign_out_everywhere(user: User, *, actor: Any, request: HttpRequest | None = None) -> None:
    """End every session of the account. The password stays; the salt of its sessions changes."""
    with transaction.atomic():
        user = _held(user)
        user.session_salt = secrets.token_hex(8)
        user.save(update_fields=["session_salt"])
        audit.record("sessions.ended", actor=actor, subject=user.email, request=request)


def reset_second_factor(user: User, *, actor: Any, request: HttpRequest | None = None) -> int:
    """Remove the second factors of an account whose owner lost them; return how many there were."""
    with transaction.atomic():
        rows = Authenticator.objects.filter(user_id=user.pk)
        count: int = rows.count()
        rows.delete()
        audit.record("mfa.reset", actor=actor, subject=user.email, request=request, removed=count)
    return count


def sync_verified(user: User) -> None:
    """users.is_verified says what allauth knows about the present address."""
    verified = EmailAddress.objects.filter(user_id=user.pk, email=user.email, verified=True).exists()
    if user.is_verified != verified:
        user.is_verified = verified
        user.save(update_fields=["is_verified"])


def _held(user: User) -> User:
    # All operators are locked in one order: two simultaneous demotions cannot both assume that the other one stays.
    list(User.objects.select_for_update().filter(is_staff=True).order_by("pk").values_list("pk"))
    return User.objects.select_for_update().get(pk=user.pk)


def _need_another_operator(user: User) -> None:
    if user.is_staff and not User.objects.filter(is_staff=True, is_active=True).exclude(pk=user.pk).exists():
        raise InvalidInput("", _("This is the only operator. Make another user an operator first."))
