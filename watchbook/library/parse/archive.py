"""A zip or a folder of Markdown files as a list of pages, parents before children.

A directory is a folder; `Name.md` is a file; a directory `Name` beside `Name.md` holds the files below that file,
unless it holds directories of its own, which a file may not. `watchbook.json`, where our export wrote one, adds titles,
order, pins, and the texts that Markdown cannot say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from watchbook.library.parse.front import split_front
from watchbook.library.parse.html import clean
from watchbook.library.parse.markdown import to_html

MANIFEST = "watchbook.json"
FORMAT = 1
SUFFIXES = (".md", ".markdown")
DEEPEST = 32
TITLE = 500


class NotReadable(Exception):
    """The archive cannot be taken. `code` for programs, the text for people (translated where it is shown)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class PageRecord:
    """A page to be made; `parent` is the place of its parent in the list."""

    title: str
    node_type: str
    content: str
    parent: int | None
    is_pinned: bool = False

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def pages_of(files: Mapping[str, bytes], directories: set[str]) -> list[PageRecord]:
    """Files by their path, already within bounds and with safe names. Files that are not Markdown are left out."""
    manifest = _manifest(files.get(MANIFEST, b""))
    texts = {path: body for path, body in files.items() if path.lower().endswith(SUFFIXES)}
    folders = set(directories)
    for path in [*texts, *directories]:
        folders.update(_above(path))
    belongs = {_stem(path): path for path in sorted(texts) if _is_below_file(_stem(path), folders, texts)}
    order = {path: place for place, path in enumerate(manifest)}
    wanted = [folder for folder in folders if folder not in belongs] + list(texts)
    wanted.sort(key=lambda path: (path.count("/"), order.get(path, len(order)), path))
    places: dict[str, int] = {}
    found: list[PageRecord] = []
    for path in wanted:
        above = path.rpartition("/")[0]
        parent = places[belongs.get(above, above)] if above else None
        places[path] = len(found)
        found.append(_record(path, texts.get(path), parent, manifest.get(path, {})))
    return found


def _record(path: str, body: bytes | None, parent: int | None, said: Mapping[str, Any]) -> PageRecord:
    is_pinned = said.get("pinned") is True
    if body is None:
        return PageRecord(_title(said, path.rpartition("/")[2]), "folder", "", parent, is_pinned)
    front, markdown = split_front(body.decode("utf-8-sig", "replace"))
    title = _title(front, _stem(path).rpartition("/")[2])
    content = said.get("content")
    # Only for a file that nobody changed since it was written: else what was edited would be lost.
    if isinstance(content, str) and said.get("sha256") == sha256(body).hexdigest():
        return PageRecord(title, "file", clean(content), parent, is_pinned)
    return PageRecord(title, "file", to_html(markdown), parent, is_pinned)


def _title(said: Mapping[str, Any], name: str) -> str:
    title = said.get("title")
    kept = " ".join(title.split()) if isinstance(title, str) else ""
    return (kept or " ".join(name.split()) or "-")[:TITLE]


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


def _above(path: str) -> list[str]:
    steps = path.split("/")[:-1]
    return ["/".join(steps[: n + 1]) for n in range(len(steps))]


def _is_below_file(folder: str, folders: set[str], texts: Mapping[str, bytes]) -> bool:
    """Is it there, and does it hold nothing but files and directories of these files?"""
    if folder not in folders:
        return False
    inner = [other for other in folders if other.startswith(f"{folder}/")]
    return all(any(f"{other}{suffix}" in texts for suffix in SUFFIXES) for other in inner)


def _manifest(body: bytes) -> dict[str, dict[str, Any]]:
    """What our own export says of each path; anything else says nothing."""
    try:
        said = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    pages = said.get("pages") if isinstance(said, dict) and said.get("format") == FORMAT else None
    if not isinstance(pages, list):
        return {}
    return {page["path"]: page for page in pages if isinstance(page, dict) and isinstance(page.get("path"), str)}
