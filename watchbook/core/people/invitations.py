"""Invitations: created, sent, revoked and accepted, each with its line in the audit log.

The token is in the link and nowhere else: the database has its SHA-256. So a link is shown once; a new link replaces
the old one. An address counts as confirmed when the mail server took the mail with the token, or when an operator
typed the address; a member who merely passes on a link proves nothing about an address.

The mail of an invitation, as HTML and as text, and what the mail server answered to it.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import access, actions, audit
from watchbook.core.accounts.models import User
from watchbook.core.people import groups, roles
from watchbook.core.people.models import NAME_LENGTH, Group, Invitation
from watchbook.core.people.options import INVITATIONS
from watchbook.core.people.roles import Choice
from watchbook.kit import formatting
from watchbook.kit.letter import Letter, Link

log = logging.getLogger(__name__)

PER_ADDRESS = 10


@dataclass(frozen=True)
class MailState:
    """Whether invitations can go out by mail: working, failing or not_set, and what the server answered last."""

    name: str
    answer: str = ""


def mail_state() -> MailState:
    if not settings.EMAIL_HOST:
        return MailState("not_set")
    last = Invitation.objects.exclude(sent_at=None, mail_error="").order_by("-created_at").first()
    if last is not None and last.mail_error:
        return MailState("failing", last.mail_error)
    return MailState("working")


def send(invitation: Invitation, token: str) -> bool:
    """Send the mail and store what the server answered. Call it after the commit."""
    error = _send(invitation, token)
    invitation.sent_at = None if error else clock.now()
    invitation.mail_error = cut(error, 300)
    invitation.save(update_fields=["sent_at", "mail_error"])
    return not error


def _send(invitation: Invitation, token: str) -> str:
    """Return an empty text, or why the mail was not sent."""
    if not settings.EMAIL_HOST:
        return _("No mail server is set.")
    if not access.allow_use("mail", invitation.email, most=PER_ADDRESS, seconds=HOUR):
        return _("Too many mails to this address within one hour.")
    with translation.override(invitation.language or None):
        message = message_of(invitation, token)
    try:
        message.send()
    except (OSError, ValueError) as error:  # SMTP errors are OSErrors
        log.warning("the mail server did not take an invitation: %s", type(error).__name__)
        said = getattr(error, "smtp_error", b"") or str(error)
        code = getattr(error, "smtp_code", "")
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        return f"{code} {text}".strip() or type(error).__name__
    return ""


def message_of(invitation: Invitation, token: str) -> EmailMultiAlternatives:
    subject = _("%(who)s invited you to Watchbook") % {"who": invitation.created_by.email}
    letter = Letter(
        title=subject,
        label=_("Invitation"),
        lead=(_("Watchbook watches the web for a team, keeps what changed, and notifies you."),),
        button=Link(_("Accept invitation"), link(token)),
        under_button=_until(invitation),
        facts=(
            *((label, text, "") for label, text in facts(invitation)),
            (_("Server"), urlsplit(settings.PUBLIC_URL).netloc, settings.PUBLIC_URL),
        ),
        after=(
            Link(_("If the button does not work, copy this address into your browser:"), ""),
            Link(link(token), link(token)),
        ),
        foot=(_("If you did not expect this invitation, ignore this e-mail. No account is created until you accept."),),
    )
    message: EmailMultiAlternatives = letter.mail(subject, invitation.email)
    return message


def _until(invitation: Invitation) -> str:
    uses = ngettext(
        "The link works once, until %(time)s.", "The link works %(n)s times, until %(time)s.", invitation.most_uses
    )
    zone = timezone.get_current_timezone_name()
    time = f"{formatting.moment_text(invitation.expires_at)} ({zone})"
    return uses % {"time": time, "n": invitation.most_uses}


def facts(invitation: Invitation) -> list[tuple[str, str]]:
    """Return what the invitation gives, as label and text."""
    role = _("Operator") if invitation.is_operator else _("Member")
    found = [(_("Invited by"), invitation.created_by.email), (_("Your role"), role)]
    if invitation.place:
        title = roles.title_of(invitation.source, invitation.place, invitation.role, viewer=invitation.created_by)
        found.append((_("Access to"), title))
    if invitation.group:
        found.append((_("Group"), invitation.group.name))
    if invitation.email:
        found.append((_("Your e-mail"), invitation.email))
    return found


MOST_DAYS, MOST_USES = 90, 1000
PER_HOUR = 100
HOUR = 3600


@dataclass(frozen=True)
class Wanted:
    """What an invitation gives. Without `email` any holder of the link can accept it."""

    email: str = ""
    name: str = ""
    is_operator: bool = False
    group: Group | None = None
    place: Choice | None = None
    days: int = 7
    uses: int = 1
    language: str = ""


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def link(token: str) -> str:
    """Return the address under the public name of this server: a forged Host never reaches a mail."""
    return settings.PUBLIC_URL + reverse("invite", args=[token])


def may_invite(user: User) -> bool:
    return user.is_active and (user.is_staff or INVITATIONS.value == "members")


def invite(wanted: Wanted, *, actor: User, request: HttpRequest | None = None) -> tuple[Invitation, str]:
    """Create an invitation; return it with its token, which is not stored."""
    email = _checked(wanted, actor)
    if not access.allow_use("invite", str(actor.pk), most=PER_HOUR, seconds=HOUR):
        raise InvalidInput("", _("Too many invitations. Try again in an hour."))
    token, now = secrets.token_urlsafe(24), clock.now()
    with transaction.atomic():
        if email:
            _revoke_older(email, actor, request)
        made = Invitation.objects.create(
            digest=digest(token),
            email=email,
            name=cut(" ".join(clean_text(wanted.name).split()), NAME_LENGTH),
            is_operator=wanted.is_operator,
            group=wanted.group,
            source=wanted.place.source if wanted.place else "",
            place=wanted.place.place if wanted.place else "",
            role=wanted.place.role if wanted.place else "",
            language=wanted.language or get_language() or "",
            most_uses=1 if email else wanted.uses,
            created_by=actor,
            created_at=now,
            expires_at=now + timedelta(days=wanted.days),
        )
        details = {"operator": made.is_operator, "group": wanted.group.name if wanted.group else "", "role": made.role}
        audit.record("invitation.made", actor=actor, subject=str(made), request=request, uses=made.most_uses, **details)
    return made, token


def _checked(wanted: Wanted, actor: User) -> str:
    """Return the address in the form in which it is kept, or raise InvalidInput with the field."""
    if not may_invite(actor):
        raise InvalidInput("", _("Only operators can invite people to this server."), "not_allowed")
    if (wanted.is_operator or wanted.group) and not actor.is_staff:
        raise InvalidInput("role", _("Only operators can give this role."), "not_allowed")
    if not 1 <= wanted.days <= MOST_DAYS:
        raise InvalidInput("days", _("Choose 1 to %(n)s days.") % {"n": MOST_DAYS})
    if not 1 <= wanted.uses <= MOST_USES:
        raise InvalidInput("uses", _("Choose 1 to %(n)s uses.") % {"n": MOST_USES})
    if not wanted.email:
        return ""
    try:
        email = actions.clean_email(wanted.email)
    except ValidationError as error:
        raise InvalidInput("email", " ".join(error.messages)) from None
    if User.objects.filter(email=email).exists():
        message = _("There is already an account %(email)s.") % {"email": email}
        raise InvalidInput("email", message, "exists", is_conflict=True)
    return email


def _revoke_older(email: str, actor: User, request: HttpRequest | None) -> None:
    """A second invitation of one inviter to the same address replaces the first."""
    for old in Invitation.objects.pending(clock.now()).filter(email=email, created_by=actor):
        revoke(old, actor=actor, request=request)


def revoke(invitation: Invitation, *, actor: Any, request: HttpRequest | None = None) -> bool:
    with transaction.atomic():
        rows = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
        is_new = bool(rows.update(revoked_at=clock.now()))
        if is_new:
            audit.record("invitation.revoked", actor=actor, subject=str(invitation), request=request)
    return is_new


def renew(invitation: Invitation, *, actor: User, request: HttpRequest | None = None, days: int = 7) -> str:
    """Return a new token; the old link no longer works. An expired invitation is valid again."""
    token = secrets.token_urlsafe(24)
    with transaction.atomic():
        held = Invitation.objects.select_for_update().get(pk=invitation.pk)
        if held.revoked_at is not None or held.uses >= held.most_uses:
            raise InvalidInput("", closed_text(held.state(clock.now())), "closed", is_conflict=True)
        held.digest, held.sent_at, held.mail_error = digest(token), None, ""
        held.expires_at = max(held.expires_at, clock.now() + timedelta(days=days))
        held.save(update_fields=["digest", "sent_at", "mail_error", "expires_at"])
        audit.record("invitation.renewed", actor=actor, subject=str(held), request=request)
    invitation.refresh_from_db()
    return token


def find(token: str) -> Invitation | None:
    found = Invitation.objects.select_related("created_by", "group")
    return found.filter(digest=digest(token)).first()


def state(invitation: Invitation) -> str:
    """Return pending, used, expired or revoked. It ends with the rights of the user who made it."""
    plain = invitation.state(clock.now())
    return "revoked" if plain == "pending" and not _inviter_may(invitation) else plain


def _inviter_may(invitation: Invitation) -> bool:
    by = invitation.created_by
    if not may_invite(by) or ((invitation.is_operator or invitation.group_id) and not by.is_staff):
        return False
    return not invitation.place or roles.may_give(by, invitation.source, invitation.place, invitation.role)


def is_invited(email: str, token: str) -> bool:
    """Say whether this confirmed address, or the holder of this link, may have an account."""
    sent = Invitation.objects.pending(clock.now()).filter(email=email).select_related("created_by", "group")
    held = find(token) if token else None
    by_link = [held] if held is not None and not held.email else []
    return any(state(invitation) == "pending" for invitation in (*sent, *by_link))


def closed_text(state: str) -> str:
    return {
        "used": _("This invitation was already used."),
        "expired": _("This invitation has expired."),
        "revoked": _("This invitation was revoked."),
    }.get(state, _("This invitation link is not valid."))


def proves_address(invitation: Invitation) -> bool:
    """Say whether a user who accepts it owns the address that it names."""
    return bool(invitation.email) and (invitation.sent_at is not None or invitation.created_by.is_staff)


@transaction.atomic
def accept(invitation: Invitation, user: User, *, request: HttpRequest | None = None) -> None:
    """Use the invitation once for this user: group, roles, and the address if the invitation proves it."""
    if invitation.email and invitation.email != user.email:
        raise InvalidInput("email", _("This invitation is for another e-mail address."))
    if (now := state(invitation)) != "pending":
        raise InvalidInput("", closed_text(now), "closed", is_conflict=True)
    # The condition is the guard: two sign-ups with the last use of a link cannot both pass.
    rows = Invitation.objects.pending(clock.now()).filter(pk=invitation.pk, digest=invitation.digest)
    if not rows.update(uses=F("uses") + 1):
        raise InvalidInput("", closed_text("used"), "closed", is_conflict=True)
    if proves_address(invitation):
        EmailAddress.objects.filter(user_id=user.pk, email=user.email).update(verified=True)
        actions.sync_verified(user)
    by = invitation.created_by
    audit.record("invitation.accepted", actor=user, subject=str(invitation), request=request, invited_by=by.email)
    if invitation.is_operator:
        actions.set_role(user, operator=True, actor=by, request=request)
        user.refresh_from_db(fields=["is_staff"])
    if invitation.group:
        groups.add_member(invitation.group, user, actor=by, request=request)
    if invitation.place:
        roles.give(user, invitation.source, invitation.place, invitation.role, actor=by)
