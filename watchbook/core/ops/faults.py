"""The last answer to a request that failed: whether to come back soon depends on what failed."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse

from watchbook.core.api.errors import RETRY_SECONDS
from watchbook.core.ui import errors


def server_error(request: HttpRequest) -> HttpResponse:
    """A database that is away, busy for too long or full is a pause; Django asks while the error is at hand."""
    response = errors.server_error(request)
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
