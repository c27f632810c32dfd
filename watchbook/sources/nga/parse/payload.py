"""The JSON of an answer: prefixes off, repairs made, refusals told apart from data."""

from __future__ import annotations

import re
from typing import Any

from watchbook.sources.nga.parse import values
from watchbook.sources.nga.parse.entities import lines
from watchbook.sources.nga.parse.errors import Damaged, LayoutChanged, Refused
from watchbook.sources.nga.parse.literal import read_json, read_json_fast, read_literal
from watchbook.sources.nga.parse.notes import Notes

# `window.script_muti_get_var_store=` and its kind; `noprefix` is not always honoured.
_PREFIX = re.compile(r"(?:[\s\ufeff;]+|/\*.*?\*/|(?:var\s+|window\.)?[\w$.]{1,60}\s*=(?!=))*+", re.DOTALL)
_CODED = re.compile(r"\s*(\d{1,9})\s*[:：]\s*(.*)", re.DOTALL)
_MARKUP = re.compile(r"<[^<>]{0,500}>")


def is_json(text: str) -> bool:
    """Does the text, past its prefix, begin like an object?"""
    return text.startswith("{", _start(text))


def read_payload(text: str, notes: Notes, *, keeps_spelling: bool = True) -> dict[str, Any]:
    """The `data` of an answer. Raises Refused with the site's own words when there is a message instead.

    Without `keeps_spelling` it is read faster, and values.raw_text raises SpellingLost where it would be needed.
    """
    document = _document(text[_start(text) :], notes, keeps_spelling=keeps_spelling)
    data = values.mapping(document.get("data") or document.get("result"))
    if has_rows(data):
        return data
    if (refusal := _refusal(document, data)) is not None:
        raise refusal
    if "currentPage" in document or "perPage" in document:
        raise LayoutChanged("app_answer")
    # A body that was cut and closed again by a repair on the way has its first keys only.
    raise LayoutChanged("missing_part" if "__GLOBAL" in data or "__CU" in data else "not_nga")


def has_rows(data: dict[str, Any]) -> bool:
    return "__R" in data or "__T" in data


def _start(text: str) -> int:
    found = _PREFIX.match(text)
    return found.end() if found else 0


def _document(text: str, notes: Notes, *, keeps_spelling: bool) -> dict[str, Any]:
    if not keeps_spelling:
        try:
            if isinstance(document := read_json_fast(text), dict):
                return document
        except ValueError:
            pass
    try:
        document, rest = read_json(text)
    except (ValueError, RecursionError):
        document, end = read_literal(text)
        rest = text[end:]
        notes.add("literal_repairs")
    if rest.strip(" \r\n\t;\0"):
        notes.add("text_after_end")
    if not isinstance(document, dict):
        raise Damaged("broken")
    return document


def _refusal(document: dict[str, Any], data: dict[str, Any]) -> Refused | None:
    """The site's words are in one of three places: data.__MESSAGE, error, or msg."""
    message = values.mapping(data.get("__MESSAGE"))
    if message:
        return Refused(
            _said(message.get("1")) or _first(document.get("error"))[1], values.whole(message.get("0")) or None
        )
    if document.get("error"):
        code, said = _first(document["error"])
        return Refused(said, code)
    if document.get("msg") or document.get("code"):
        return Refused(_said(document.get("msg")), values.whole(document.get("code")) or None)
    return None


def _first(error: Any) -> tuple[int | None, str]:
    said = _said(values.mapping(error).get("0") if isinstance(error, (dict, list)) else error)
    coded = _CODED.fullmatch(said)
    return (int(coded[1]), coded[2]) if coded else (None, said)


def _said(value: Any) -> str:
    return values.text(_MARKUP.sub(" ", lines(values.raw_text(value))))[:500]
