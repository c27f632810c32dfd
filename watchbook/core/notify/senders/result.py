"""How a try to send ended, in words that a page can translate."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base.logs import redact
from watchbook.base.text import clean_text, cut

KEPT_BODY = 2048

ANSWERED = gettext_noop("The receiver answered with status %(status)s.")
MAIL_ANSWERED = gettext_noop("The mail server answered with code %(status)s.")
SENTENCES = {
    "status": ANSWERED,
    "gone": gettext_noop("The receiver says that it no longer exists (410). The channel was switched off."),
    "redirect": gettext_noop("The receiver answered with a redirect (%(status)s). Redirects are not followed."),
    "mail_later": MAIL_ANSWERED,
    "mail_refused": MAIL_ANSWERED,
    "mail_setup": gettext_noop("The mail server did not let us send. An operator has to look at the mail settings."),
    "mail_unreachable": gettext_noop("The mail server could not be reached or hung up."),
    "mail_unconfirmed": gettext_noop("The mail server hung up after taking the message without confirming it."),
    "bad_address": gettext_noop("The mail address cannot be used."),
    "sealed": gettext_noop("The secrets of this channel cannot be opened with the present key. Enter them again."),
    "service_failed": gettext_noop("The service did not take the notice."),
    "service_timed_out": gettext_noop("The service did not answer in time."),
    "service_refused": gettext_noop("This service address is not allowed."),
    "crashed": gettext_noop("The sender disappeared again and again while sending this."),
    "unexpected": gettext_noop("An unexpected error. An operator finds it in the log."),
    "paused": gettext_noop("Not sent: the channel was switched off."),
    "failing": gettext_noop("Not sent: the channel was switched off because it kept failing."),
    "unsubscribed": gettext_noop("Not sent: the receiver unsubscribed."),
    "account_closed": gettext_noop("Not sent: the account is not active."),
}


@dataclass(frozen=True)
class Result:
    """One try. `is_permanent`: twice in a row ends the matter; `is_final`: at once; `is_gone`: and the channel too.

    `is_busy`: nothing left the house, so it is no try; it is done again in a moment.
    """

    ok: bool
    code: str = ""
    message: str = ""
    status: int | None = None
    body: str = ""
    retry_after_seconds: float | None = None
    is_permanent: bool = False
    is_final: bool = False
    is_gone: bool = False
    is_busy: bool = False


def sent(status: int | None = None, body: bytes = b"") -> Result:
    return Result(ok=True, status=status, body=kept(body))


def failed(code: str, *, message: str = "", status: int | None = None, body: bytes = b"", **how: object) -> Result:
    """A failed try; the sentence comes from the code unless the error brought its own."""
    sentence = message or SENTENCES[code] % {"status": status}
    return Result(ok=False, code=code, message=cut(sentence, 500), status=status, body=kept(body), **how)  # type: ignore[arg-type]


def kept(body: bytes) -> str:
    """The beginning of an answer as plain text. Some receivers say back what they were sent, keys included."""
    return cut(redact.text(clean_text(body[:KEPT_BODY].decode("utf-8", "replace"))), KEPT_BODY)


def explain(code: str, status: int | None, message: str = "") -> str:
    """The sentence of a stored outcome in the reader's language."""
    if code in SENTENCES:
        return _(SENTENCES[code]) % {"status": status}
    return _(message) if message else ""
