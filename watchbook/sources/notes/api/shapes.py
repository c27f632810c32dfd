"""Rows as they are answered, and what bodies look like in the documentation."""

from __future__ import annotations

from typing import Any

from watchbook.sources.notes.models import Candidate, Cookie, Execution, Note
from watchbook.sources.notes.rules import BATCH_SIZE, MAX_BATCH_SIZE, MAX_CLAIM, MAX_PAGE, MAX_PAGE_SIZE

CANDIDATE_NAMES = (
    "id", "note_id", "platform", "note_url", "status", "processing_lock", "locked_at", "retry_count",
    "source_keyword", "exec_meta", "title", "last_error_code", "last_error_reason", "last_error_message",
    "published_at", "created_at", "updated_at",
)  # fmt: skip
NOTE_NAMES = (
    "id", "idempotency_key", "note_id", "platform", "note_url", "note_type", "title", "content", "author_id",
    "author_name", "counts", "tags", "media", "source_keyword", "published_at", "edited_at", "collected_at",
    "retry_count", "last_error_code", "exec_meta",
)  # fmt: skip
EXECUTION_NAMES = (
    "id", "workflow_name", "execution_id", "status", "fence", "started_at", "heartbeat_at", "completed_at",
    "items_processed", "items_failed", "items_claimed", "items_returned", "request_id",
)  # fmt: skip
COOKIE_NAMES = (
    "cookie_name", "platform", "status", "priority", "daily_used", "daily_limit", "consecutive_errors",
    "total_errors", "cooling_until", "encryption_key_id", "mark", "is_enabled", "last_used_at", "last_error_code",
    "last_error_reason", "created_at", "updated_at",
)  # fmt: skip


def candidate_out(row: Candidate) -> dict[str, Any]:
    return {name: getattr(row, name) for name in CANDIDATE_NAMES}


def note_out(row: Note) -> dict[str, Any]:
    return {name: getattr(row, name) for name in NOTE_NAMES}


def execution_out(row: Execution) -> dict[str, Any]:
    return {name: getattr(row, name) for name in EXECUTION_NAMES}


def cookie_out(row: Cookie) -> dict[str, Any]:
    """Everything about a cookie but the cookie."""
    return {name: getattr(row, name) for name in COOKIE_NAMES}


def _text(most: int = 2048) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def _number(least: int, most: int, usual: int | None = None) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "integer", "minimum": least, "maximum": most}
    return shape if usual is None else {**shape, "default": usual}


def _body(needed: tuple[str, ...], **fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(needed)}
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


def _list(of: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "maxItems": most, "items": {"type": "object", "properties": of}}


_ADDRESS = {"note_id": _text(64), "xsec_token": _text(500), "xsec_source": _text(40), "note_url": _text()}
_FOUND = {**_ADDRESS, "platform": _text(30), "source_keyword": _text(200)}
_HOLDER = {"execution_id": _text(100), "fence": {"type": "integer"}}
_HELD = ("execution_id", "fence")
_SECONDS = {"type": "number", "minimum": 0.1}

BODIES: dict[str, dict[str, Any]] = {
    "/search": _body(
        ("keyword",), keyword=_text(200), page=_number(1, MAX_PAGE, 1), page_size=_number(1, MAX_PAGE_SIZE, 20),
        timeout_seconds=_SECONDS,
    ),
    "/detail": _body((), **_ADDRESS, timeout_seconds=_SECONDS),
    "/batch": _body(("items",), items=_list(_ADDRESS, MAX_BATCH_SIZE), timeout_seconds=_SECONDS),
    "/workflow/candidates": _body(("items",), items=_list(_FOUND, 500)),
    "/workflow/acquire": _body(("workflow_name",), workflow_name=_text(100)),
    "/workflow/heartbeat": _body(_HELD, **_HOLDER),
    "/workflow/claim": _body(_HELD, **_HOLDER, batch_size=_number(1, MAX_CLAIM, BATCH_SIZE)),
    "/workflow/commit": _body((*_HELD, "note_id", "result"), **_HOLDER, note_id=_text(64), result={"type": "object"}),
    "/workflow/fail": _body((*_HELD, "note_id", "error"), **_HOLDER, note_id=_text(64), error={"type": "object"}),
    "/workflow/release": _body(_HELD, **_HOLDER, status={"type": "string", "enum": ["completed", "failed"]}),
    "/workflow/recover": _body(()),
    "/workflow/report": _body(("workflow_name",), workflow_name=_text(100), message=_text(500)),
}  # fmt: skip
