"""Mail: text and HTML, the same Message-ID at every try, an own connection for each message.

The mail server is the operator's setting. Nothing is ever sent in the clear where STARTTLS was asked for: Django's
backend then raises, and that is a failed try.
"""

from __future__ import annotations

import contextlib
import smtplib
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from watchbook.core.notify import unsubscribe
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.notify.senders.message import Message
from watchbook.core.notify.senders.result import Result, failed, sent


class _Line(smtplib.SMTP):
    """Remembers that the message itself went over the line: from then on silence may mean that it was taken."""

    has_handed_over = False

    def data(self, msg: Any) -> Any:
        self.has_handed_over = True
        return super().data(msg)


class _SafeLine(smtplib.SMTP_SSL, _Line):
    pass


class Postman(EmailBackend):
    """Django's SMTP backend on a line that remembers."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _SafeLine if self.use_ssl else _Line

    @property
    def has_handed_over(self) -> bool:
        return bool(getattr(self.connection, "has_handed_over", False))


def send(channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    postman = _connection()
    try:
        letter = compose(channel, config["email"], message)
        postman.open()
        count = postman.send_messages([letter])
    except (smtplib.SMTPException, OSError, ValueError, UnicodeError) as error:
        return _trouble(error, postman)
    finally:
        _hang_up(postman)
    return sent() if count else failed("bad_address", is_final=True)


def _connection() -> BaseEmailBackend:
    if settings.EMAIL_BACKEND == "django.core.mail.backends.smtp.EmailBackend":
        return Postman(fail_silently=False)
    connection: BaseEmailBackend = get_connection(fail_silently=False)
    return connection


def _hang_up(postman: BaseEmailBackend) -> None:
    # The message was taken or refused before; how the line ends does not matter.
    with contextlib.suppress(smtplib.SMTPException, OSError):
        postman.close()


def compose(channel: NotificationChannel, address: str, message: Message) -> EmailMultiAlternatives:
    link = unsubscribe.link(channel, address) if channel.house_slot is None else ""
    headers = {"Message-ID": f"<{message.id}@{_domain()}>", "Auto-Submitted": "auto-generated"}
    if message.thread:
        root = f"<{unsubscribe.short_hash(message.thread)}.thread@{_domain()}>"
        headers |= {"References": root, "In-Reply-To": root}
    if link:
        headers |= {"List-Unsubscribe": f"<{link}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    with translation.override(channel.user.language or settings.LANGUAGE_CODE):
        text = _text(message, link)
        # The markup was made by our own code when the notice was told; see outbox.notice.
        markup = mark_safe(message.html)  # noqa: S308
        html = render_to_string("notify/mail.html", {"message": message, "markup": markup, "unsubscribe": link})
    letter = EmailMultiAlternatives(message.subject, text, settings.DEFAULT_FROM_EMAIL, [address], headers=headers)
    letter.attach_alternative(html, "text/html")
    return letter


def _domain() -> str:
    return urlsplit(settings.PUBLIC_URL).hostname or "localhost"


def _text(message: Message, unsubscribe_link: str) -> str:
    parts = [message.text or message.subject]
    if message.link:
        parts.append(message.link)
    foot = ["-- ", _("Sent by Watchbook.")]
    if unsubscribe_link:
        foot.append(_("No more of these: %(link)s") % {"link": unsubscribe_link})
    return "\n\n".join([*parts, "\n".join(foot)]) + "\n"


def _trouble(error: Exception, postman: BaseEmailBackend) -> Result:
    """4xx passes, 5xx about this message does not; what is wrong with our own account at the server is a setting."""
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
    if getattr(postman, "has_handed_over", False):
        # It may have arrived. One more try at most: a second copy is better than none, a third is not.
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
