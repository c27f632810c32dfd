"""Reading an answer in another process: JSON in, JSON out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from watchbook.sources.nga.parse import errors
from watchbook.sources.nga.parse.answer import read_answer
from watchbook.sources.nga.parse.packing import packed
from watchbook.sources.nga.parse.records import SITE, ListPage


def read_answer_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Takes input_path and optionally content_type, page, site.

    Answers {kind: "list" or "topic", page: {…}}, or {kind: "error", error: {type, code, message, site_code}}.
    """
    try:
        page = read_answer(
            Path(argument["input_path"]).read_bytes(),
            content_type=argument.get("content_type", ""),
            page=argument.get("page", 1),
            site=argument.get("site", SITE),
        )
    except errors.Unreadable as error:
        site_code = getattr(error, "site_code", None)
        said = {"type": type(error).__name__, "code": error.code, "message": error.message, "site_code": site_code}
        return {"kind": "error", "error": said}
    return {"kind": "list" if isinstance(page, ListPage) else "topic", "page": packed(page)}
