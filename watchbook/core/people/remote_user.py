"""Sign-in by a trusted proxy that names the user."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib.auth import login, logout
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from watchbook.core.accounts import actions, audit
from watchbook.core.accounts.models import User

KEY, PROXY = "signed_in_by", "proxy"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def follow(request: HttpRequest, given: str) -> None:
    """Make the session that of the named user. Without a name, a session that a name began ends."""
    try:
        email = actions.clean_email(given) if given else ""
    except ValidationError:
        email = ""
    if request.user.is_authenticated:
        if request.user.email == email:
            return
        if request.session.get(KEY) == PROXY:
            logout(request)
    if email and not request.user.is_authenticated and (user := _account(email, request)):
        login(request, user, backend=BACKEND)
        request.session[KEY] = PROXY
        audit.record("login.ok", actor=user, request=request, by=PROXY)


def _account(email: str, request: HttpRequest) -> User | None:
    """Return the active account with this confirmed address, or a new one."""
    user = User.objects.filter(email=email).first()
    if user is None:
        with transaction.atomic():
            user = User.objects.create_user(email, None, is_verified=True)
            audit.record("account.signed_up", actor=user, request=request, operator=False, by=PROXY)
        return user
    is_confirmed = EmailAddress.objects.filter(user_id=user.pk, email=email, verified=True).exists()
    return user if user.is_active and is_confirmed else None
