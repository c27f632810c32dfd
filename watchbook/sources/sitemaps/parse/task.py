"""Reading one file in another process: small JSON in, small JSON out, the pages in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from watchbook.sources.sitemaps.parse.errors import Unreadable
from watchbook.sources.sitemaps.parse.part import read_part
from watchbook.sources.sitemaps.parse.records import Limits


def read_part_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Takes input_path, output_path, base_url and optionally content_type, transport_complete, limits.

    Answers the summary of the part with its state (ok, incomplete, over-limit), or state "failed" with
    error {kind, code, message}, where kind is the name of the Unreadable.
    """
    try:
        part = read_part(
            Path(argument["input_path"]),
            base_url=argument["base_url"],
            content_type=argument.get("content_type"),
            transport_complete=argument.get("transport_complete", True),
            limits=Limits(**argument.get("limits", {})),
            output=Path(argument["output_path"]),
        )
    except Unreadable as error:
        said = {"kind": type(error).__name__, "code": error.code, "message": error.message}
        return {"state": "failed", "error": said}
    return part.summary()
