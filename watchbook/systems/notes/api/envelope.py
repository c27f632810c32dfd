"""The envelope of every response: success, data, error, meta.

The router of the notes API, and how its endpoints are declared: bodies in the documentation, answers enveloped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, JsonResponse
from ninja import Router, Status

from watchbook.base import clock
from watchbook.base.logs import request_id
from watchbook.core.api.errors import Problem
from watchbook.core.api.schemas import Answer, read_json
from watchbook.core.api.shell import refuses
from watchbook.systems.notes.access import working
from watchbook.systems.notes.rules import HANDLING, Code, NotesError
from watchbook.systems.notes.validation import Body

log = logging.getLogger("watchbook.notes.api")

# Errors of core as codes of this envelope.
# The specification answers wrong input with 400.
STATUSES = {422: 400}
BY_STATUS = {404: Code.NOT_FOUND, 413: Code.INVALID_INPUT, 422: Code.INVALID_INPUT, 429: Code.RATE_LIMITED}


@dataclass
class Call:
    """One request: its body, its start, and the cookie it used."""

    request: HttpRequest
    payload: dict[str, Any] = field(default_factory=dict)
    cookie_used: str | None = None
    began: float = field(default_factory=time.monotonic)

    def meta(self) -> dict[str, Any]:
        return meta(round((time.monotonic() - self.began) * 1000), self.cookie_used)


def meta(latency_ms: int = 0, cookie_used: str | None = None) -> dict[str, Any]:
    return {
        "request_id": request_id(),
        "latency_ms": latency_ms,
        "cookie_used": cookie_used,
        "timestamp": clock.now().isoformat(),
        "retry_count": 0,
    }


def answered(
    request: HttpRequest, act: Callable[[Call], tuple[int, dict[str, Any]]]
) -> JsonResponse | Status[dict[str, Any]]:
    """Parse the body, act, and put the result or the error into the envelope."""
    call = Call(request)
    try:
        if request.method in {"POST", "PATCH"}:
            call.payload = _body(request)
        status, body = act(call)
    except NotesError as error:
        call.cookie_used = call.cookie_used or error.cookie_used or None
        status, body = error.status, {"success": False, "data": None, "error": error.as_json()}
    code = (body.get("error") or {}).get("code", "ok")
    log.info("notes call %s %s, cookie %s", request.path.rpartition("/notes/")[2], code, call.cookie_used or "-")
    whole = {**body, "meta": call.meta()}
    return Status(status, whole) if status < 300 else _refused(whole, status)


def done(data: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"success": True, "data": data, "error": None}


def envelope(status: int, code: str, message: str, details: Any) -> dict[str, Any]:
    """Return the envelope of an error that core raised, e.g. for a missing token or a wrong filter."""
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
        reason = "" if problem.details else "invalid_json"
        raise NotesError(Code.INVALID_INPUT, problem.message, reason=reason, details=problem.details) from None
    if not isinstance(document, dict):
        raise NotesError(Code.INVALID_INPUT, "The body must be a JSON object.", reason="invalid_json")
    return document


def _refused(body: dict[str, Any], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, json_dumps_params={"ensure_ascii": False})


router = Router()

Declared = Callable[[Callable[..., Any]], Callable[..., Any]]


def body_schema(model: type[Body]) -> dict[str, Any]:
    """Return the JSON schema of a body with its parts inlined, for the API documentation."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return inline(parts[node["$ref"].rpartition("/")[2]])
            return {
                name: inline(value) for name, value in node.items() if name != "title" or not isinstance(value, str)
            }
        return [inline(one) for one in node] if isinstance(node, list) else node

    inlined: dict[str, Any] = inline(schema)
    return inlined


def post(path: str, body: type[Body], answer: type[Answer], *refusals: int, partly: bool = False) -> Declared:
    """Bodies are parsed in `validation`, so that a wrong one gets the envelope; the schema is for the documentation."""
    made: Declared = router.post(
        path,
        auth=working,
        response={200: answer, 207: answer} if partly else answer,
        exclude_unset=True,
        openapi_extra={**_documented(body), **refuses(400, *refusals)},
    )
    return made


def patch(path: str, body: type[Body], answer: type[Answer]) -> Declared:
    made: Declared = router.patch(
        path,
        auth=working,
        response=answer,
        exclude_unset=True,
        openapi_extra={**_documented(body), **refuses(400, 404)},
    )
    return made


def delete(path: str, answer: type[Answer]) -> Declared:
    made: Declared = router.delete(path, auth=working, response=answer, openapi_extra=refuses(404))
    return made


def _documented(body: type[Body]) -> dict[str, Any]:
    needed = any(field.is_required() for field in body.model_fields.values())
    return {"requestBody": {"required": needed, "content": {"application/json": {"schema": body_schema(body)}}}}


def listed_in_envelope(request: HttpRequest, found: Any) -> Any:
    """A page in the envelope of this API; a file as it is."""
    if not isinstance(found, dict):
        return found
    return answered(request, lambda call: (200, {"success": True, **found, "error": None}))
