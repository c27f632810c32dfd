"""How allauth behaves here: its hooks and signals, each with its line in the audit log."""

from __future__ import annotations

import base64
import ipaddress
import logging
import secrets
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account import signals as account_signals
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa import signals as mfa_signals
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.forms import BaseForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import get_language_from_request, gettext
from django.utils.translation import gettext_lazy as _

from watchbook.base.crypto import REENCRYPTED, DecryptionError, Writing, decrypt, encrypt, reencrypt_value
from watchbook.core.accounts import access, actions, audit, options
from watchbook.core.accounts.models import User, normalise_email

log = logging.getLogger(__name__)

OUR_MAILS = {
    f"accounts/mail/{name}"
    for name in (
        "account_already_exists",
        "email_confirmation",
        "email_confirmation_signup",
        "password_reset_key",
        "unknown_account",
    )
}
HOUR = 3600
MAILS_PER_ADDRESS = 10
# Over all client addresses together. A botnet is slowed down; the owner gets in again by a reset.
FAILURES_PER_ACCOUNT = 100


def public(url: str) -> str:
    """The same path under the configured address: a forged Host never reaches a mail."""
    parts = urlsplit(url)
    return settings.PUBLIC_URL + parts.path + (f"?{parts.query}" if parts.query else "")


class AccountAdapter(DefaultAccountAdapter):
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": _("E-mail and password do not match."),
        "too_many_login_attempts": _("Too many attempts. Wait a few minutes, or reset the password."),
        "incorrect_password": _("The password is wrong."),
        "enter_current_password": _("The current password is wrong."),
        "incorrect_code": _("The code is wrong."),
        "only_single_sign_on": _("Passwords are disabled on this server. Use single sign-on."),
        "rate_limited": _("Too many requests. Try again in a minute."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        if options.is_oidc_only():
            return False
        choice = options.SIGNUP.value
        return choice == "open" or (choice == "first" and access.has_no_users())

    def get_logout_redirect_url(self, request: HttpRequest) -> str:
        """After single sign-on, a page that offers to sign out at the provider, too."""
        if request.session.get("signed_in_by") == "oidc":
            return reverse("oidc_signed_out")
        target: str = super().get_logout_redirect_url(request)
        return target

    def is_safe_url(self, url: str) -> bool:
        return access.is_safe_target(url or "")

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the proxy middleware settled on. Headers are not read again."""
        try:
            return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
        except ValueError:
            return "0.0.0.0"  # noqa: S104 - a name for all who come through a socket without addresses

    def is_ajax(self, request: HttpRequest) -> bool:
        return False  # no page of ours asks for JSON here: one form of answer less to keep safe

    def clean_email(self, email: str) -> str:
        return actions.clean_email(email)

    def clean_password(self, password: str, user: AbstractBaseUser | None = None) -> str:
        actions.check_password(password, user)  # type: ignore[arg-type]
        return password

    def save_user(
        self, request: HttpRequest, user: AbstractBaseUser, form: BaseForm, commit: bool = True
    ) -> AbstractBaseUser:
        user = super().save_user(request, user, form, commit=False)
        if getattr(form, "is_first", False) and access.has_no_users():
            # The form admits only users with the code, or on the machine itself.
            user.is_staff = user.is_verified = True  # type: ignore[attr-defined]
        if request.headers.get("Accept-Language"):
            # Notifications are written without a browser at hand, so its language is kept.
            user.language = get_language_from_request(request)  # type: ignore[attr-defined]
        with transaction.atomic():
            user.save()
            audit.record("account.signed_up", actor=user, request=request, operator=user.is_staff)  # type: ignore[attr-defined]
        return user

    def set_password(self, user: AbstractBaseUser, password: str) -> None:
        actions.set_password(user, password, event="password.changed", request=self.request)  # type: ignore[arg-type]

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        with transaction.atomic():
            confirmed: bool = super().confirm_email(request, email_address)
            if confirmed:
                actions.sync_verified(email_address.user)
                audit.record("account.verified", actor=email_address.user, subject=email_address.email, request=request)
        return confirmed

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        with transaction.atomic():
            super().login(request, user)
            audit.record("login.ok", actor=user, request=request)

    def logout(self, request: HttpRequest) -> None:
        user = request.user
        with transaction.atomic():
            super().logout(request)
            audit.record("logout", actor=user, request=request)

    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        if "email" in credentials:
            credentials["email"] = normalise_email(credentials["email"])
        user: AbstractBaseUser | None = super().authenticate(request, **credentials)
        return user

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        if options.is_oidc_only():
            raise self.validation_error("only_single_sign_on")
        super().pre_authenticate(request, **credentials)
        if access.uses("login", credentials.get("email", ""), seconds=HOUR) >= FAILURES_PER_ACCOUNT:
            raise self.validation_error("too_many_login_attempts")

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        access.count_use("login", credentials.get("email", ""), seconds=HOUR)
        audit.record("login.failed", subject=credentials.get("email", ""), request=request)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # Not by account alone: then anyone could lock its owner out by failing five times every five minutes.
        # Not with the Host that the client sent: each spelling would be worth five more tries.
        return f"{normalise_email(credentials.get('email', ''))} {self.get_client_ip(request)}"

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        super()._delete_login_attempts_cached_email(request, **credentials)
        access.forget_uses("login", normalise_email(credentials.get("email", "")), seconds=HOUR)

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        if "account/messages/logged_in.txt" not in args:  # the page behind says as much
            super().add_message(request, level, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        if not access.allow_use("mail", normalise_email(email), most=MAILS_PER_ADDRESS, seconds=HOUR):
            log.warning("no more mail to this address within the hour: %s", template_prefix)
            return
        about = {
            **{name: public(value) if name.endswith("_url") else value for name, value in context.items()},
            "email": email,
            "server_url": settings.PUBLIC_URL,
            "current_site": SimpleNamespace(name="Watchbook", domain=urlsplit(settings.PUBLIC_URL).netloc),
        }
        ours = template_prefix.replace("account/email/", "accounts/mail/")
        message = self.render_mail(ours if ours in OUR_MAILS else template_prefix, email, about)
        try:
            message.send()
        except OSError as error:  # SMTP errors are OSErrors
            log.error("the mail server did not take a mail: %s", type(error).__name__)
            messages.error(
                self.request,
                gettext("The e-mail could not be sent. Try again later. An operator can find the cause in the log."),
            )


class MfaAdapter(DefaultMFAAdapter):
    """Secrets of two-factor authentication are encrypted at rest."""

    error_messages = {**DefaultMFAAdapter.error_messages, "incorrect_code": _("The code is wrong.")}
    BOUND_TO = "accounts.mfa"

    def encrypt(self, text: str) -> str:
        return encrypt(text, bound_to=self.BOUND_TO)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return decrypt(encrypted_text, bound_to=self.BOUND_TO)
        except DecryptionError:
            # With the key lost no code may pass. An empty secret would be a known one.
            log.error("a second-step secret cannot be opened with the keys at hand")
            return base64.b32encode(secrets.token_bytes(20)).decode()


def connect() -> None:
    """Called once when the apps are ready."""
    # The rows themselves are watched, not allauth's signals: those come after the commit.
    post_save.connect(second_step_saved, sender=Authenticator, dispatch_uid="accounts.mfa.saved")
    post_delete.connect(second_step_deleted, sender=Authenticator, dispatch_uid="accounts.mfa.deleted")
    mfa_signals.authentication_failed.connect(second_step_failed, dispatch_uid="accounts.mfa.failed")
    account_signals.email_changed.connect(email_changed, dispatch_uid="accounts.email.changed")


def second_step_saved(sender: Any, instance: Authenticator, created: bool, **_: Any) -> None:
    if created:
        named = {Authenticator.Type.TOTP: "mfa.on", Authenticator.Type.WEBAUTHN: "passkey.added"}
        event = named.get(instance.type, "mfa.codes")
        audit.record(event, actor=instance.user, request=context.request)


def second_step_deleted(sender: Any, instance: Authenticator, origin: Any = None, **_: Any) -> None:
    # Recovery codes are deleted with two-factor authentication, and both with the account: one event, one row.
    named = {Authenticator.Type.TOTP: "mfa.off", Authenticator.Type.WEBAUTHN: "passkey.removed"}
    if instance.type in named and not isinstance(origin, User):
        audit.record(named[instance.type], actor=instance.user, request=context.request)


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


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    """Re-encrypt the second factors. Sessions expire by themselves."""
    for row in Authenticator.objects.order_by("pk"):
        words: list[tuple[str, str]] = []
        data = _walked(row.data, words)
        if any(word == REENCRYPTED for word, _old in words):
            with writing():
                # Only what was read is replaced: a code that was used in between stays used.
                kept = Authenticator.objects.select_for_update().get(pk=row.pk)
                if kept.data == row.data:
                    kept.data = data
                    kept.save(update_fields=["data"])
        yield from words


def _walked(value: Any, words: list[tuple[str, str]]) -> Any:
    """Return the same structure with every encrypted text re-encrypted."""
    if isinstance(value, dict):
        return {name: _walked(part, words) for name, part in value.items()}
    if isinstance(value, list):
        return [_walked(part, words) for part in value]
    if not isinstance(value, str) or not value.startswith("v2:"):
        return value
    word, new = reencrypt_value(value, MfaAdapter.BOUND_TO)
    words.append((word, value))
    return new
