"""From verified claims to an account: the identity that is known, a confirmed address, or a new account.

An account is connected by an address only if the provider verified it and Watchbook confirmed it. Every decision is in
the audit log.

Also here: sign-in by a trusted proxy that names the user.
"""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib.auth import login, logout
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import get_language_from_request
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import actions, audit, options
from watchbook.core.accounts.models import User
from watchbook.core.people import groups, invitations
from watchbook.core.people.models import ExternalIdentity, Group, GroupMember
from watchbook.core.people.oidc import Claims, SignInError


def sign_in(claims: Claims, request: HttpRequest, *, token: str = "") -> User:
    """Return the active account of these claims, with the groups that the provider names.

    `token` is that of the invitation from which the user came, if any.
    """
    with transaction.atomic():
        user = _known(claims) or _connected(claims, request) or _created(claims, request, token)
    if not user.is_active:
        raise SignInError(_("This account is disabled."))
    take_groups(user, claims, request)
    return user


def _known(claims: Claims) -> User | None:
    found = ExternalIdentity.objects.select_related("user").filter(issuer=claims.issuer, subject=claims.subject).first()
    if found is None:
        return None
    ExternalIdentity.objects.filter(pk=found.pk).update(used_at=clock.now())
    user: User = found.user
    return user


def _address(claims: Claims) -> str:
    if not claims.email:
        raise SignInError(_("The sign-in provider did not verify your e-mail address."))
    try:
        return actions.clean_email(claims.email)
    except ValidationError:
        raise SignInError(_("The sign-in provider sent no valid e-mail address.")) from None


def _connected(claims: Claims, request: HttpRequest) -> User | None:
    """Connect the account with this address, if both sides confirmed the address."""
    email = _address(claims)
    user = User.objects.filter(email=email).first()
    if user is None:
        return None
    if not EmailAddress.objects.filter(user_id=user.pk, email=email, verified=True).exists():
        raise SignInError(
            _("There is an account with your address, but the address is not confirmed. Sign in and confirm it first.")
        )
    _remember(user, claims, request)
    return user


def _created(claims: Claims, request: HttpRequest, token: str) -> User:
    if not options.OIDC_CREATE.value and not invitations.is_invited(_address(claims), token):
        raise SignInError(_("You have no account on this server. Ask an operator for an invitation."))
    try:
        with transaction.atomic():
            language = get_language_from_request(request) if request.headers.get("Accept-Language") else ""
            user = User.objects.create_user(_address(claims), None, is_verified=True, language=language)
    except IntegrityError:
        raise SignInError(_("Someone else changed this. Reload, then try again.")) from None
    audit.record("account.signed_up", actor=user, request=request, operator=False, by="oidc")
    _remember(user, claims, request)
    return user


def _remember(user: User, claims: Claims, request: HttpRequest) -> None:
    ExternalIdentity.objects.create(user=user, issuer=claims.issuer, subject=claims.subject, used_at=clock.now())
    audit.record("sso.connected", actor=user, subject=user.email, request=request, issuer=claims.issuer)


def take_groups(user: User, claims: Claims, request: HttpRequest) -> None:
    """Make the user an operator or not, and a member of the local groups that the provider names."""
    if claims.groups is None:
        return
    if options.OIDC_OPERATOR_GROUP.value:
        try:
            is_operator = options.OIDC_OPERATOR_GROUP.value in claims.groups
            actions.set_role(user, operator=is_operator, actor=None, request=request)
        except InvalidInput:  # the only operator stays one: a wrong claim must not lock everyone out
            audit.record("sso.role_kept", actor=user, subject=user.email, request=request)
        user.refresh_from_db(fields=["is_staff"])
    named = {groups.folded(name) for name in claims.groups}
    for group in Group.objects.filter(folded__in=named):
        groups.add_member(group, user, actor=None, request=request, by_sign_in=True)
    left = GroupMember.objects.filter(user=user, by_sign_in=True).exclude(group__folded__in=named)
    for member in left.select_related("group"):
        groups.remove_member(member.group, user, actor=None, request=request)


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
