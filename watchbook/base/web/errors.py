"""Errors of a request, each with its remedy.

    WebError
    |-- Refused            the address or request is not allowed; no connection was opened. Change the address.
    |-- Busy               another process holds the host, or the host asked for a pause. Retry after the pause.
    |-- Unreachable        no name, no connection, broken TLS, lost connection. Temporary: retry later.
    |-- TimedOut           the host responded too slowly. Temporary: retry later.
    |-- Throttled          429: too many requests. Wait `retry_after_seconds`.
    |-- Blocked            401, 402, 403, 451 and other 4xx: the host refuses. Use other credentials or headers.
    |-- Gone               404, 410: the page does not exist. Implies nothing about other pages of the host.
    |-- ServerTrouble      5xx, 408, 425: an error of the host. Temporary: back off.
    |-- TooLarge           more bytes than allowed. Raise the limit or skip the page.
    |-- BadAnswer          garbled HTTP, wrong length, broken compression, an unexpected status. Retry later.
    |-- BudgetExceeded     the piece of work has used its requests (`counted(most=…)`); nothing was sent.
    |-- TooManyRedirects   a loop or a chain without end. Enter the final address.
    `-- LayoutChanged      raised by parsers: the page has another layout. Inspect the page, correct the parser.

`code` is a stable word, `message` a sentence for users (English source text; show it through gettext), `detail` is
for the log only. Closed, filtered and unknown hosts give the same message, so that no user can scan ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchbook.base.web.response import Answer


def gettext_noop(text: str) -> str:
    """Mark a sentence for translation. Not Django's function: parsers raise these errors without Django."""
    return text


class WebError(Exception):
    code = "web_error"
    message = gettext_noop("The address could not be fetched.")
    is_temporary = False

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        message: str | None = None,
        retry_after_seconds: float | None = None,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.message = message or self.message
        self.retry_after_seconds = retry_after_seconds
        self.answer = answer

    @property
    def status(self) -> int | None:
        return self.answer.status if self.answer else None

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.detail})" if self.detail else "")


class Refused(WebError):
    code = "refused"
    message = gettext_noop("This address is not allowed.")


class Busy(WebError):
    code = "busy"
    message = gettext_noop("This site is being asked right now or wants a pause. It will be tried again.")
    is_temporary = True


class Unreachable(WebError):
    code = "unreachable"
    message = gettext_noop("The site could not be reached.")
    is_temporary = True
    is_stale = False  # a kept connection was dead already; a second attempt opens a new one


class TimedOut(WebError):
    code = "timed_out"
    message = gettext_noop("The site answered too slowly.")
    is_temporary = True


class Throttled(WebError):
    code = "throttled"
    message = gettext_noop("The site asks for fewer requests. It will be tried again later.")
    is_temporary = True


class Blocked(WebError):
    code = "blocked"
    message = gettext_noop("The site does not let this page be read.")


class Gone(WebError):
    code = "gone"
    message = gettext_noop("The site says that this page does not exist.")


class ServerTrouble(WebError):
    code = "server_trouble"
    message = gettext_noop("The site has a problem of its own.")
    is_temporary = True


class TooLarge(WebError):
    code = "too_large"
    message = gettext_noop("The answer is larger than allowed.")


class BadAnswer(WebError):
    code = "bad_answer"
    message = gettext_noop("The site sent an answer that cannot be read.")
    is_temporary = True


class TooManyRedirects(WebError):
    code = "too_many_redirects"
    message = gettext_noop("The address leads from one redirect to the next without end.")


class BudgetExceeded(WebError):
    code = "budget_exceeded"
    message = gettext_noop("The request limit of this step is used up.")


class LayoutChanged(WebError):
    code = "layout_changed"
    message = gettext_noop("The page does not look as it used to.")
