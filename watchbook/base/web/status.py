"""From a status code to the error that stands for it."""

from __future__ import annotations

import math
import re
import time
from email.utils import parsedate_to_datetime

from watchbook.base.web.answer import Answer, Headers
from watchbook.base.web.errors import BadAnswer, Blocked, Gone, ServerTrouble, Throttled, TooManyRedirects, WebError

REDIRECTS = frozenset({301, 302, 303, 307, 308})
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 86400.0
DEFAULT_PAUSE = 60.0


def retry_after(headers: Headers) -> float | None:
    """Seconds between one second and one day, whatever the header says; None if it says nothing readable."""
    text = next(iter(headers.all("retry-after")), "").strip()[:100]
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?([eE][0-9]+)?", text):
        seconds = float(text)
    else:
        try:
            # Real time, even where the clock is held: the other side does not know our clock.
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError, TypeError, IndexError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE)


def wanted_pause(status: int, headers: Headers) -> float | None:
    """How long the other side wants to be left alone."""
    if status == 429:
        return retry_after(headers) or DEFAULT_PAUSE
    return retry_after(headers) if status == 503 else None


def check_sane(status: int, *, has_validators: bool) -> None:
    """Raises BadAnswer for an answer that nobody asked for."""
    if status < 200 or status > 599 or status == 206 or (status == 304 and not has_validators):
        raise BadAnswer(f"status {status}", code="bad_status")


def is_failure(status: int, *, keeps_redirect: bool) -> bool:
    return status >= 400 or (300 <= status != 304 and not keeps_redirect)


def error_for(answer: Answer) -> WebError:
    """The error for a status that is a failure."""
    status = answer.status
    detail = f"status {status}"
    pause = wanted_pause(status, answer.headers)
    if status < 400:
        return TooManyRedirects(detail, answer=answer)
    if status == 429:
        return Throttled(detail, retry_after_seconds=pause, answer=answer)
    if status in {404, 410}:
        return Gone(detail, answer=answer)
    if status >= 500 or status in {408, 425}:
        return ServerTrouble(detail, retry_after_seconds=pause, answer=answer)
    return Blocked(detail, answer=answer)
