"""Errors of requests to Reddit, and the classification of responses.

RedditError          `outcome` is stored with the crawl
|-- Refused          about this community: private, banned, nonexistent, quarantined, forbidden. Retry rarely.
|-- RequestFailed    about this request: upstream, unreachable, garbage. Retry later.
`-- ClientRefused    about this client: throttled, wall, auth, busy. Stop all requests for now.
NotConfigured        no credentials: no request is sent
"""

from __future__ import annotations

import json
from typing import Any

from watchbook.base.web.errors import WebError
from watchbook.base.web.response import REDIRECTS, Answer, Headers, retry_after
from watchbook.systems.reddit.models import Outcome


class RedditError(Exception):
    def __init__(self, outcome: str, detail: str = "", *, wait_seconds: float | None = None) -> None:
        super().__init__(f"{outcome}: {detail}" if detail else outcome)
        self.outcome = outcome
        self.detail = detail
        self.wait_seconds = wait_seconds


class Refused(RedditError):
    pass


class RequestFailed(RedditError):
    pass


class ClientRefused(RedditError):
    pass


class NotConfigured(Exception):
    def __init__(self) -> None:
        super().__init__("REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET are not set. Reddit is not crawled.")


DEFAULT_PAUSE = 60.0
MAX_PAUSE = 3600.0


def error_of(answer: Answer) -> RedditError | None:
    """Return the error of a response, or None if it contains data. Each case was seen in recorded responses."""
    status = answer.status
    if status == 200:
        return RequestFailed(Outcome.WALL, "HTML instead of data") if _is_html(answer) else None
    if status in REDIRECTS:
        return _redirected(answer)
    if status == 429:
        return ClientRefused(Outcome.THROTTLED, wait_seconds=pause_after(answer.headers))
    if status == 403:
        return _forbidden(answer)
    if status in {404, 410}:
        return Refused(Outcome.BANNED, _reason(answer) or "not found")
    if status == 401:
        return ClientRefused(Outcome.AUTH, "the token is not accepted")
    if status >= 500 or status == 408:
        return RequestFailed(Outcome.UPSTREAM, f"status {status}")
    if status == 451:
        return Refused(Outcome.FORBIDDEN, "status 451")
    return RequestFailed(Outcome.GARBAGE, f"status {status}")


def _redirected(answer: Answer) -> RedditError:
    if "/subreddits/search" in answer.headers.get("location", ""):
        return Refused(Outcome.NONEXISTENT, "redirected to the search")
    return RequestFailed(Outcome.GARBAGE, f"redirect {answer.status}")


def _forbidden(answer: Answer) -> RedditError:
    if "insufficient_scope" in answer.headers.get("www-authenticate", ""):
        return ClientRefused(Outcome.AUTH, "insufficient_scope")
    if _is_html(answer):
        return ClientRefused(Outcome.WALL, "blocked by network security")
    reason = _reason(answer)
    known = {"private": Outcome.PRIVATE, "quarantined": Outcome.QUARANTINED, "banned": Outcome.BANNED}
    return Refused(known.get(reason, Outcome.FORBIDDEN), reason)


def pause_after(headers: Headers) -> float:
    """Return the longer pause of the two headers, or 60 s if neither is set."""
    asked = [retry_after(headers) or 0.0, number(headers.get("x-ratelimit-reset", "")) or 0.0]
    return min(max(asked) or DEFAULT_PAUSE, MAX_PAUSE) or 1.0


def number(text: str) -> float | None:
    """Parse "599.0" or "599"; return None for other text."""
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


def as_reddit_error(error: WebError) -> ClientRefused | RequestFailed:
    """Convert an error of the connection."""
    if error.code in {"refused", "private_address", "bad_port"}:
        return ClientRefused(Outcome.AUTH, f"the address of the API is refused: {error.code}")
    return RequestFailed(Outcome.UNREACHABLE if error.is_temporary else Outcome.GARBAGE, error.code)
