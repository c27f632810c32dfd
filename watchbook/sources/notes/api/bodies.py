"""What bodies look like in the documentation; they are read by hand, in `reading`."""

from __future__ import annotations

from typing import Any

from watchbook.sources.notes.rules import BATCH_SIZE, MAX_BATCH_SIZE, MAX_CLAIM, MAX_PAGE, MAX_PAGE_SIZE


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
