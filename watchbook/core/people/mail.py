"""The mail of an invitation, as HTML and as text, and what the mail server answered to it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.core.accounts import access
from watchbook.core.people import invitations, roles
from watchbook.core.people.models import Invitation
from watchbook.kit import formatting
from watchbook.kit.letter import Letter, Link

log = logging.getLogger(__name__)

PER_ADDRESS = 10
HOUR = 3600


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
        button=Link(_("Accept invitation"), invitations.link(token)),
        under_button=_until(invitation),
        facts=(
            *((label, text, "") for label, text in facts(invitation)),
            (_("Server"), urlsplit(settings.PUBLIC_URL).netloc, settings.PUBLIC_URL),
        ),
        foot=(_("If you did not expect this invitation, ignore this e-mail. No account is created until you accept."),),
    )
    message: EmailMultiAlternatives = letter.mail(subject, invitation.email)
    return message


def _until(invitation: Invitation) -> str:
    uses = ngettext(
        "The link works once, until %(time)s.", "The link works %(n)s times, until %(time)s.", invitation.most_uses
    )
    return uses % {"time": formatting.full_text(invitation.expires_at), "n": invitation.most_uses}


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
