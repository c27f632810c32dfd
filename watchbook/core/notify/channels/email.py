"""E-mail: text and HTML, the same Message-ID for every attempt, one connection per message, a link to unsubscribe.

The mail server is the operator's setting. Where STARTTLS is set, nothing is sent without it: Django's backend raises,
and that is a failed attempt.
"""

from __future__ import annotations

import contextlib
import hashlib
import smtplib
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import idna
from django import forms
from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import normalise_email
from watchbook.core.health import last_use
from watchbook.core.notify.channels import BadConfig, ChannelForm, ChannelKind, Config, only, text_of
from watchbook.core.notify.message import Message, Result, explain, failed, sent
from watchbook.core.notify.models import Attempt, NotificationChannel
from watchbook.core.registry import Use
from watchbook.kit.formatting import moment_text
from watchbook.kit.letter import Letter, Link

# Without a time: a mail that is sent again is the same, byte by byte.
_signer = signing.Signer(sep="~", salt="notify.unsubscribe")
UNSUBSCRIBED = "unsubscribed"


def short_hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:32]


def unsubscribe_token(channel: NotificationChannel, address: str) -> str:
    return _signer.sign(f"{channel.pk.hex}.{short_hash(address)[:12]}")


def unsubscribe_link(channel: NotificationChannel, address: str) -> str:
    return settings.PUBLIC_URL + reverse("unsubscribe", args=[unsubscribe_token(channel, address)])


def find_by_token(given: str) -> NotificationChannel | None:
    """The channel a link belongs to; None for a forged link or one for an address the channel no longer has."""
    try:
        channel_id, _dot, address = _signer.unsign(given).partition(".")
    except signing.BadSignature:
        return None
    mails = NotificationChannel.objects.filter(channel_type="email", account_slot=None)
    channel = mails.select_related("user").filter(pk=UUID(channel_id)).first()
    if channel is None or short_hash(channel.config.get("email", ""))[:12] != address:
        return None
    return channel


@transaction.atomic
def unsubscribe(channel: NotificationChannel) -> None:
    changed = NotificationChannel.objects.filter(pk=channel.pk).exclude(disabled_reason=UNSUBSCRIBED)
    if changed.update(is_active=False, disabled_reason=UNSUBSCRIBED, updated_at=clock.now()):
        audit.record("channel.unsubscribed", subject=channel.name, id=channel.pk)


@transaction.atomic
def resubscribe(channel: NotificationChannel) -> None:
    stopped = NotificationChannel.objects.filter(pk=channel.pk, disabled_reason=UNSUBSCRIBED)
    if stopped.update(is_active=True, disabled_reason="", updated_at=clock.now()):
        audit.record("channel.resubscribed", subject=channel.name, id=channel.pk)


LONGEST_EMAIL = 254
# Writes mails to the log, which reaches no recipient: it is set while there is no mail server.
NO_SERVER = "django.core.mail.backends.console.EmailBackend"


class MailForm(ChannelForm):
    email = forms.CharField(label=gettext_lazy("E-mail address"), max_length=254)

    def _initial(self, channel: NotificationChannel | None) -> dict[str, Any]:
        return super()._initial(channel) | ({"email": channel.config.get("email", "")} if channel else {})

    def given(self) -> dict[str, Any]:
        return {"email": self.cleaned_data["email"]}


class Email(ChannelKind):
    name = "email"
    label = gettext_lazy("E-mail")
    icon = "mail"
    lead = gettext_lazy("Notifications by e-mail, each with an unsubscribe link.")
    content = (
        gettext_lazy(
            "Text and HTML, grouped by subject in your mail program. "
            "Every e-mail has a link to unsubscribe without signing in."
        ),
    )
    form = MailForm
    order = 10

    def unavailable(self) -> str:
        return _("No mail server is set. An operator enters one under Settings.") if not is_set_up() else ""

    def check(self, given: Config, known: Config) -> dict[str, Any]:
        return check_email(given, known)

    def masked(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"email": config["email"]}

    def target(self, config: Config) -> str:
        return str(config.get("email", ""))

    def secrets(self, config: Config) -> tuple[str, ...]:
        return ()

    def send(self, channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
        return send(channel, config, message)


KIND = Email()


def check_email(given: Config, known: Config) -> dict[str, Any]:
    only(given, "email")
    address = text_of(given, known, "email")
    if not address or len(address) > LONGEST_EMAIL or clean_text(address) != address:
        raise BadConfig("email", _("Enter one e-mail address."))
    address = normalise_email(address)
    try:
        name, _at, domain = address.rpartition("@")
        # As the envelope has it: a host name in another script travels in its ASCII form.
        address = f"{name}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}"
        validate_email(address)
        address.encode("ascii")
    except (ValidationError, UnicodeError):
        raise BadConfig("email", _("Enter one e-mail address.")) from None
    return {"email": address}


class _Connection(smtplib.SMTP):
    """Records that the message was sent: without a response it may have been accepted."""

    has_sent_data = False

    def data(self, msg: Any) -> Any:
        self.has_sent_data = True
        return super().data(msg)


class _TlsConnection(smtplib.SMTP_SSL, _Connection):
    pass


class MailSender(EmailBackend):
    """Django's SMTP backend with a connection that records whether the message was sent."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _TlsConnection if self.use_ssl else _Connection

    @property
    def has_sent_data(self) -> bool:
        return bool(getattr(self.connection, "has_sent_data", False))


# They say something about one message or its recipient, not about the mail server.
OF_ONE_MAIL = ("mail_not_set", "mail_refused", "bad_address", "not_decrypted", "crashed", "unexpected")


def last_mail(after: datetime | None) -> Use | None:
    """The last attempt to send a notification through the mail server. For the settings page."""
    if not is_set_up():
        return None
    rows = Attempt.objects.filter(delivery__channel__channel_type="email").exclude(error_code__in=OF_ONE_MAIL)
    answer = lambda attempt: explain(attempt.error_code, attempt.status, attempt.error)  # noqa: E731 - one line
    return last_use(rows, "at", Q(succeeded=True), after=after, answer=answer)


def is_set_up() -> bool:
    return bool(settings.EMAIL_BACKEND != NO_SERVER)


def send(channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    if not is_set_up():
        return failed("mail_not_set")
    server = _connection()
    try:
        mail = compose(channel, config["email"], message)
        server.open()
        count = server.send_messages([mail])
    except (smtplib.SMTPException, OSError, ValueError, UnicodeError) as error:
        return _failed(error, server)
    finally:
        _close(server)
    return sent() if count else failed("bad_address", is_final=True)


def _connection() -> BaseEmailBackend:
    if settings.EMAIL_BACKEND == "django.core.mail.backends.smtp.EmailBackend":
        return MailSender(fail_silently=False)
    connection: BaseEmailBackend = get_connection(fail_silently=False)
    return connection


def _close(server: BaseEmailBackend) -> None:
    # The message was accepted or refused before; how the connection ends does not matter.
    with contextlib.suppress(smtplib.SMTPException, OSError):
        server.close()


def compose(channel: NotificationChannel, address: str, message: Message) -> EmailMultiAlternatives:
    link = unsubscribe_link(channel, address) if channel.account_slot is None else ""
    headers = {"Message-ID": f"<{message.id}@{_domain()}>", "Auto-Submitted": "auto-generated"}
    if message.thread:
        root = f"<{short_hash(message.thread)}.thread@{_domain()}>"
        headers |= {"References": root, "In-Reply-To": root}
    if link:
        headers |= {"List-Unsubscribe": f"<{link}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    lang = channel.user.language or settings.LANGUAGE_CODE
    with translation.override(lang), timezone.override(channel.zone):
        letter = _letter(channel, message, link)
        # Our own code created the markup when the notification was queued; see `message.Notification`.
        html = letter.html(lang, markup=mark_safe(message.html))  # noqa: S308
        text = letter.text() if message.content else _text(letter, message)
    mail = EmailMultiAlternatives(message.subject, text, settings.DEFAULT_FROM_EMAIL, [address], headers=headers)
    mail.attach_alternative(html, "text/html")
    return mail


def _domain() -> str:
    return urlsplit(settings.PUBLIC_URL).hostname or "localhost"


def _letter(channel: NotificationChannel, message: Message, unsubscribe: str) -> Letter:
    """Return the content with the time and the foot: why it came, and how to change or stop it."""
    letter = message.letter or Letter(message.subject)
    if letter.button is None and message.link:
        letter = replace(letter, button=Link(_("Open in Watchbook"), message.link))
    if not letter.label:
        letter = replace(letter, label=moment_text(message.created_at))
    if not unsubscribe:
        return replace(letter, foot=(_("Sent by Watchbook."),))
    why = _("You receive this e-mail because it is sent to the channel %(name)s. Frequency: %(frequency)s.")
    return replace(
        letter,
        foot=(why % {"name": channel.name, "frequency": channel.get_digest_display()},),
        links=(
            Link(_("Change frequency"), settings.PUBLIC_URL + reverse("channel_edit", args=[channel.pk])),
            Link(_("Unsubscribe"), unsubscribe),
        ),
    )


def _text(letter: Letter, message: Message) -> str:
    """Return the text part of a notification without content of its own: its lines stay as they are."""
    lines = tuple(line for line in (message.text or message.subject).splitlines() if line.strip())
    return replace(letter, lead=lines).text()


def _failed(error: Exception, server: BaseEmailBackend) -> Result:
    """Return the result: 4xx is temporary, 5xx about this message is final, a refused login is a wrong setting."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, reply = next(iter(error.recipients.values()))
        return _answered(code, reply)
    if isinstance(error, smtplib.SMTPDataError):
        return _answered(error.smtp_code, error.smtp_error)
    if isinstance(error, smtplib.SMTPResponseException) and 400 <= error.smtp_code < 500:
        return _answered(error.smtp_code, error.smtp_error)
    if isinstance(error, (smtplib.SMTPResponseException, smtplib.SMTPNotSupportedError)):
        return failed("mail_setup", status=getattr(error, "smtp_code", None), body=_reply(error))
    if not isinstance(error, OSError):
        return failed("bad_address", is_final=True)
    if getattr(server, "has_sent_data", False):
        # It may have arrived. One more attempt at most: a second copy is better than none, a third is not.
        return failed("mail_unconfirmed", is_permanent=True)
    return failed("mail_unreachable")


def _answered(code: int, reply: bytes | str) -> Result:
    body = reply if isinstance(reply, bytes) else reply.encode()
    if code >= 500:
        return failed("mail_refused", status=code, body=body, is_final=True)
    return failed("mail_later", status=code, body=body)


def _reply(error: Exception) -> bytes:
    reply = getattr(error, "smtp_error", b"")
    return reply if isinstance(reply, bytes) else str(reply).encode()
