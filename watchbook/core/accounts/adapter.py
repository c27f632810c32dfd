"""How allauth behaves in this house: its hooks, each with its line in the audit log."""

from __future__ import annotations

import base64
import ipaddress
import logging
import secrets
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from watchbook.base.crypto import CannotOpen, open_sealed, seal
from watchbook.core.accounts import actions, audit, first_user, limits, options, redirects
from watchbook.core.accounts.addresses import normalise

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
        "too_many_login_attempts": _("Too many tries. Wait a few minutes, or reset the password."),
        "incorrect_password": _("The password is not right."),
        "enter_current_password": _("The current password is not right."),
        "incorrect_code": _("The code is not right."),
        "rate_limited": _("Too many requests. Wait a minute."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        choice = options.SIGNUP.value
        return choice == "open" or (choice == "first" and first_user.is_awaited())

    def is_safe_url(self, url: str) -> bool:
        return redirects.is_safe(url or "")

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the proxy middleware settled on. Headers are not looked at again."""
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
        if getattr(form, "is_first", False) and first_user.is_awaited():
            # The form let only somebody with the code, or on the machine itself, come here.
            user.is_staff = user.is_verified = True  # type: ignore[attr-defined]
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
            credentials["email"] = normalise(credentials["email"])
        user: AbstractBaseUser | None = super().authenticate(request, **credentials)
        return user

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        super().pre_authenticate(request, **credentials)
        if limits.seen("login", credentials.get("email", ""), seconds=HOUR) >= FAILURES_PER_ACCOUNT:
            raise self.validation_error("too_many_login_attempts")

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        limits.count("login", credentials.get("email", ""), seconds=HOUR)
        audit.record("login.failed", subject=credentials.get("email", ""), request=request)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # Not by account alone: then anybody could keep its owner out by failing five times every five minutes.
        # Not with the Host that the client sent: each spelling would be worth five more tries.
        return f"{normalise(credentials.get('email', ''))} {self.get_client_ip(request)}"

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        super()._delete_login_attempts_cached_email(request, **credentials)
        limits.forget("login", normalise(credentials.get("email", "")), seconds=HOUR)

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        if "account/messages/logged_in.txt" not in args:  # the page behind says as much
            super().add_message(request, level, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        if not limits.allow("mail", normalise(email), most=MAILS_PER_ADDRESS, seconds=HOUR):
            log.warning("no more mail to this address within the hour: %s", template_prefix)
            return
        about = {
            **{name: public(value) if name.endswith("_url") else value for name, value in context.items()},
            "email": email,
            "house_url": settings.PUBLIC_URL,
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
                gettext("The mail could not be sent. The operator finds the reason in the log. Try again later."),
            )


class MfaAdapter(DefaultMFAAdapter):
    """Second-step secrets are sealed at rest."""

    error_messages = {**DefaultMFAAdapter.error_messages, "incorrect_code": _("The code is not right.")}
    BOUND_TO = "accounts.mfa"

    def encrypt(self, text: str) -> str:
        return seal(text, bound_to=self.BOUND_TO)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return open_sealed(encrypted_text, bound_to=self.BOUND_TO)
        except CannotOpen:
            # With the key lost no code may pass. An empty secret would be a known one.
            log.error("a second-step secret cannot be opened with the keys at hand")
            return base64.b32encode(secrets.token_bytes(20)).decode()
