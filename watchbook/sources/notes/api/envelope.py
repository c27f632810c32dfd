"""One shape for every answer: success, data, error, meta; and the way from a call to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, JsonResponse
from ninja import Status

from watchbook.base import clock
from watchbook.base.logs import request_id
from watchbook.core.api.errors import Problem
from watchbook.core.api.reading import read_json
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.rules import HANDLING, Code

log = logging.getLogger("watchbook.notes.api")

# Refusals of the house (no token, not allowed, too many) in the words of this envelope.
BY_STATUS = {404: Code.NOT_FOUND, 413: Code.INVALID_INPUT, 422: Code.INVALID_INPUT, 429: Code.RATE_LIMITED}


@dataclass
class Call:
    """One call: when it began, what it brought, which cookie it used."""

    request: HttpRequest
    payload: dict[str, Any] = field(default_factory=dict)
    cookie_used: str | None = None
    began: float = field(default_factory=time.monotonic)

    def meta(self) -> dict[str, Any]:
        return meta(round((time.monotonic() - self.began) * 1000), self.cookie_used)


def meta(latency_ms: int = 0, cookie_used: str | None = None) -> dict[str, Any]:
    return {
        "request_id": request_id.current(),
        "latency_ms": latency_ms,
        "cookie_used": cookie_used,
        "timestamp": clock.now().isoformat(),
        "retry_count": 0,
    }


def answered(
    request: HttpRequest, act: Callable[[Call], tuple[int, dict[str, Any]]]
) -> JsonResponse | Status[dict[str, Any]]:
    """Read the body, act, and put whatever comes of it into the envelope. Refusals are not for ninja to look at."""
    call = Call(request)
    try:
        if request.method == "POST":
            call.payload = _body(request)
        status, body = act(call)
    except Trouble as trouble:
        status, body = trouble.status, {"success": False, "data": None, "error": trouble.as_json()}
    code = (body.get("error") or {}).get("code", "ok")
    log.info("notes call %s %s, cookie %s", request.path.rpartition("/notes/")[2], code, call.cookie_used or "-")
    whole = {**body, "meta": call.meta()}
    return Status(status, whole) if status < 300 else _refused(whole, status)


def done(data: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"success": True, "data": data, "error": None}


def envelope(status: int, code: str, message: str, details: Any) -> dict[str, Any]:
    """What the house refuses before a call reaches us."""
    known = BY_STATUS.get(status)
    error: dict[str, Any] = {
        "code": str(known or code.upper()),
        "message": message,
        "retryable": HANDLING[known].retryable if known else status >= 500,
    }
    if details is not None:
        error["details"] = details
    return {"success": False, "data": None, "error": error, "meta": meta()}


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        document = read_json(request.body) if request.body else {}
    except Problem as problem:
        raise Trouble(Code.INVALID_INPUT, problem.message, reason="invalid_json") from None
    if not isinstance(document, dict):
        raise Trouble(Code.INVALID_INPUT, "The body must be a JSON object.", reason="invalid_json")
    return document


def _refused(body: dict[str, Any], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, json_dumps_params={"ensure_ascii": False})
