"""Requests whose client went away are not computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# The number that nginx gives a request whose client closed the connection. Nobody reads the response; the log does.
CLIENT_GONE = 499


class ClientGone(Exception):
    """The client closed the connection, so the view ends at its next query."""


class Abandoned:
    """Ends reading requests whose client closed the connection: at once, or at the next query of the view.

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
            # Inside a transaction the view goes on: its end is for its own code to decide.
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
