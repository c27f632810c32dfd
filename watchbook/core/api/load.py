"""Requests share the threads of this process: heavy ones are limited, and abandoned ones end.

No user takes every thread with searches and exports: on pages, in the API and in tools of the MCP server. A request is
heavy when it searches or exports. What is counted is what runs in this process now, not requests per hour: a user whose
searches are fast never reaches the limit.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from watchbook.core.api.options import HEAVY_REQUESTS
from watchbook.kit import errors

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# The parameters of searches and exports, on pages and in the API.
HEAVY_PARAMETERS = ("q", "format")
RETRY_SECONDS = 2


class Running:
    """How many heavy requests each user runs in this process."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def enter(self, key: str) -> bool:
        with self._lock:
            if self._counts[key] >= HEAVY_REQUESTS.value:
                return False
            self._counts[key] += 1
            return True

    def leave(self, key: str) -> None:
        with self._lock:
            self._counts[key] -= 1
            if self._counts[key] <= 0:
                del self._counts[key]

    def of(self, key: str) -> int:
        return self._counts[key]


RUNNING = Running()


class UntilSent:
    """Counts a file of rows, which is computed while it is sent, until its end or until the server closes it unread."""

    def __init__(self, parts: Iterator[bytes], key: str) -> None:
        self._parts, self._key, self._is_over = iter(parts), key, False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            RUNNING.leave(self._key)


class Fair:
    """Refuses a heavy request of a user who already runs as many as allowed, so that others find a free thread."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_heavy(request.method or "", request.GET):
            return self.get_response(request)
        key = whose(request)
        if not RUNNING.enter(key):
            response = errors.too_many(request)
            response.headers["Retry-After"] = str(RETRY_SECONDS)
            return response
        try:
            response_or_stream = self.get_response(request)
        except BaseException:
            RUNNING.leave(key)
            raise
        if isinstance(response_or_stream, StreamingHttpResponse):
            parts = cast("Iterator[bytes]", response_or_stream.streaming_content)
            response_or_stream.streaming_content = UntilSent(parts, key)
            return response_or_stream
        RUNNING.leave(key)
        return response_or_stream


def is_heavy(method: str, query: Mapping[str, str]) -> bool:
    return method == "GET" and any(query.get(name) not in {None, "", "json"} for name in HEAVY_PARAMETERS)


def whose(request: HttpRequest) -> str:
    """Return the user, the token, or the address of a visitor. A token beside a session changes nothing."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return f"user:{user.pk}"
    if header := request.META.get("HTTP_AUTHORIZATION", ""):
        return "token:" + hashlib.sha256(header.encode("utf-8", "replace")).hexdigest()[:32]
    return f"at:{request.META['REMOTE_ADDR']}"


# The number that nginx gives a request whose client closed the connection. Only the log shows it.
CLIENT_GONE = 499


class ClientGone(Exception):
    """The client closed the connection, so the view ends at its next query."""


class Abandoned:
    """Ends reading requests whose client closed the connection: before the view, or at its next query of the view.

    A request that writes is finished: the user may have left because the page was slow, not to take it back. It is the
    last of the middleware, so that only the view is stopped, and `process_exception` sees its error.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # waitress has this check; other servers have none.
        is_gone: Callable[[], bool] | None = request.META.get("waitress.client_disconnected")
        if is_gone is None or request.method not in {"GET", "HEAD"}:
            return self.get_response(request)
        if is_gone():
            return _gone()

        def before_query(execute: Callable[..., Any], *given: Any) -> Any:
            # Inside a transaction the view continues: its own code decides when it ends.
            if getattr(request, "may_stop", False) and not connection.in_atomic_block and is_gone():
                raise ClientGone
            return execute(*given)

        with connection.execute_wrapper(before_query):
            return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        request.may_stop = True  # type: ignore[attr-defined]

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return _gone() if isinstance(exception, ClientGone) else None


def _gone() -> HttpResponse:
    response = HttpResponse(status=CLIENT_GONE, reason="Client Closed Request")
    # The log of requests has it. Django would add a warning, although nothing is wrong with the server.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
