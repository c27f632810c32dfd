"""A one-off check without an account: read, count, and compare with a result that was saved earlier."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from watchbook.base import sandbox
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.sources.sitemaps.compare import Union, compare, union_of, union_records
from watchbook.sources.sitemaps.compare.difference import ADDED, MODIFIED, REMOVED, ROLLED_OFF
from watchbook.sources.sitemaps.jobs.reading import read_sitemap
from watchbook.sources.sitemaps.parse import PartList, Unreadable
from watchbook.sources.sitemaps.parse.lines import write_line
from watchbook.sources.sitemaps.parse.lists import ListWriter
from watchbook.sources.sitemaps.records import Reading, repeated_notes
from watchbook.sources.sitemaps.sentences import said

SAVED_FORM = "watchbook sitemap result 1"


class CannotCheck(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check(url: str, folder: Path, *, against: Path | None, save: Path | None) -> dict[str, Any]:
    saved = _load(against, folder) if against else None
    try:
        reading = read_sitemap(check_url(url.strip()).url, known={}, folder=folder)
    except (WebError, Unreadable, sandbox.TaskError) as error:
        raise CannotCheck(error.code, said(error)) from None
    lists = [_list_of(part) for part in reading.pages if part.lines is not None]
    union = union_of(lists)
    result = _result(url, reading, union)
    if saved is not None:
        result |= _difference(saved, lists, is_whole=reading.is_complete)
    if save:
        _save(save, result, lists)
    return result


def _list_of(part: Any) -> PartList:
    return PartList(part.url, part.summary["list_sha256"], part.count, part.lines, bool(part.summary.get("news")))


def _result(url: str, reading: Reading, union: Union) -> dict[str, Any]:
    return {
        "url": url,
        "kind": reading.root.summary["kind"],
        "url_count": union.count,
        "url_hash": union.url_hash,
        "complete": reading.is_complete,
        "notes": [_note(note) for note in [*reading.notes, *repeated_notes(union)]],
        "parts": [
            {
                "url": part.url,
                "url_count": part.count,
                "complete": part.is_read,
                "outcome": part.error_code or part.outcome,
            }
            for part in (reading.pages if reading.root.is_index else reading.parts)
        ],
        "fetch_duration_ms": reading.fetch_ms,
        "parse_duration_ms": reading.parse_ms,
    }


def _note(note: dict[str, Any]) -> str:
    return f"{note['code']}: {note['message']}"


def _difference(saved: PartList, lists: list[PartList], *, is_whole: bool) -> dict[str, Any]:
    with compare([saved], lists, removals=is_whole) as difference:
        removed = sorted(
            chain(difference.items(REMOVED), difference.items(ROLLED_OFF)), key=lambda one: str(one["url"])
        )
        return {
            "added": list(difference.items(ADDED)),
            "removed": removed,
            "modified": list(difference.items(MODIFIED)),
        }


def _save(path: Path, result: dict[str, Any], lists: list[PartList]) -> None:
    """The result on the first line, then one page a line, in the order of their URLs."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"form": SAVED_FORM, **result}, ensure_ascii=False) + "\n")
        for record in union_records(lists):
            file.write(json.dumps(record.as_json(), ensure_ascii=False) + "\n")


def _load(path: Path, folder: Path) -> PartList:
    writer = ListWriter(folder / "saved.lines")
    try:
        with path.open(encoding="utf-8") as file:
            if json.loads(next(file, "{}")).get("form") != SAVED_FORM:
                raise ValueError("another form")
            for line in file:
                row = json.loads(line)
                values = (row.get(name) or "" for name in ("lastmod", "changefreq", "priority"))
                writer.add([write_line(row["url"], *values)])
    except (ValueError, KeyError, AttributeError, TypeError, UnicodeDecodeError):
        writer.discard()
        raise CannotCheck("bad_file", f"{path} is not a result that --save wrote.") from None
    return writer.finish("saved")
