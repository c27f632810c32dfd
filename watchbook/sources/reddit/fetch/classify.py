"""What an answer means. Every row of this table is an answer that was seen in the wild or in Reddit's own source."""

from __future__ import annotations

import json
from typing import Any

from watchbook.base.web.answer import Answer, Headers
from watchbook.base.web.status import REDIRECTS, retry_after
from watchbook.sources.reddit.fetch.errors import Lost, RedditTrouble, Refusal, Stop
from watchbook.sources.reddit.models import Outcome

USUAL_PAUSE = 60.0
LONGEST_PAUSE = 3600.0


def trouble_of(answer: Answer) -> RedditTrouble | None:
    """None for an answer that may be read as data."""
    status = answer.status
    if status == 200:
        return Lost(Outcome.WALL, "HTML instead of data") if _is_html(answer) else None
    if status in REDIRECTS:
        return _redirected(answer)
    if status == 429:
        return Stop(Outcome.THROTTLED, wait_seconds=pause_after(answer.headers))
    if status == 403:
        return _forbidden(answer)
    if status in {404, 410}:
        return Refusal(Outcome.BANNED, _reason(answer) or "not found")
    if status == 401:
        return Stop(Outcome.AUTH, "the token is not accepted")
    if status >= 500 or status == 408:
        return Lost(Outcome.UPSTREAM, f"status {status}")
    if status == 451:
        return Refusal(Outcome.FORBIDDEN, "status 451")
    return Lost(Outcome.GARBAGE, f"status {status}")


def _redirected(answer: Answer) -> RedditTrouble:
    if "/subreddits/search" in answer.headers.get("location", ""):
        return Refusal(Outcome.NONEXISTENT, "redirected to the search")
    return Lost(Outcome.GARBAGE, f"redirect {answer.status}")


def _forbidden(answer: Answer) -> RedditTrouble:
    if "insufficient_scope" in answer.headers.get("www-authenticate", ""):
        return Stop(Outcome.AUTH, "insufficient_scope")
    if _is_html(answer):
        return Stop(Outcome.WALL, "blocked by network security")
    reason = _reason(answer)
    known = {"private": Outcome.PRIVATE, "quarantined": Outcome.QUARANTINED, "banned": Outcome.BANNED}
    return Refusal(known.get(reason, Outcome.FORBIDDEN), reason)


def pause_after(headers: Headers) -> float:
    """The longer of what the two headers ask for; a minute when neither says anything."""
    asked = [retry_after(headers) or 0.0, number(headers.get("x-ratelimit-reset", "")) or 0.0]
    return min(max(asked) or USUAL_PAUSE, LONGEST_PAUSE) or 1.0


def number(text: str) -> float | None:
    """ "599.0", "599" or nothing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


def _is_html(answer: Answer) -> bool:
    return answer.content_type in {"text/html", "application/xhtml+xml"} or answer.body.lstrip()[:1] == b"<"


def _reason(answer: Answer) -> str:
    try:
        body: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    reason = body.get("reason") if isinstance(body, dict) else None
    return reason[:60] if isinstance(reason, str) else ""
