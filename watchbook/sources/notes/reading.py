"""What callers send, checked and bounded before anything is done with it. Raises Trouble(INVALID_INPUT)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.sources.notes.errors import invalid
from watchbook.sources.notes.fetch.visit import SearchQuery
from watchbook.sources.notes.parse.addresses import NotANote, NoteAddress, bare_url, note_address, parse_note_url
from watchbook.sources.notes.parse.note import COUNTS, MOST_MEDIA, MOST_TAGS
from watchbook.sources.notes.parse.records import Count, Media, NoteRecord
from watchbook.sources.notes.rules import DEFAULT_PLATFORM, MAX_BATCH_SIZE, MAX_PAGE, MAX_PAGE_SIZE
from watchbook.sources.notes.store.candidates import Found
from watchbook.sources.notes.store.executions import Holder

LONGEST_KEYWORD = 200
LONGEST_CONTENT = 100_000
MOST_FOUND = 500

NOT_A_NOTE = gettext_noop("Give the id of a note, with its token, or the address of a note.")
NO_KEYWORD = gettext_noop("Give a keyword of up to 200 characters.")
BAD_PAGE = gettext_noop("A page is from 1 to 100 and has from 1 to 50 hits.")
BAD_BATCH = gettext_noop("A batch has from 1 to 20 notes.")
BAD_ITEMS = gettext_noop("Give from 1 to 500 items.")
BAD_HOLDER = gettext_noop("Give the execution_id and the fence that acquire answered.")
BAD_RESULT = gettext_noop("The result is not a note as detail answers it.")
BAD_WORD = gettext_noop("This is not a name that can be used here.")
BAD_NUMBER = gettext_noop("This number is out of bounds.")

Payload = Mapping[str, Any]


def read_query(payload: Payload) -> SearchQuery:
    keyword = clean_text(str(payload.get("keyword") or "")).strip()
    if not keyword or len(keyword) > LONGEST_KEYWORD:
        raise invalid(NO_KEYWORD, "keyword")
    page, size = payload.get("page", 1), payload.get("page_size", 20)
    if not _is_between(page, 1, MAX_PAGE) or not _is_between(size, 1, MAX_PAGE_SIZE):
        raise invalid(BAD_PAGE, "page")
    return SearchQuery(keyword, page, size)


def read_address(payload: Payload, field: str = "note_id") -> NoteAddress:
    """`note_id` with its token, or `note_url`; the token may also be in the address beside an id."""
    url, note_id = payload.get("note_url"), payload.get("note_id")
    token, source = payload.get("xsec_token") or "", payload.get("xsec_source") or ""
    if not all(isinstance(value, str) for value in (url or "", note_id or "", token, source)):
        raise invalid(NOT_A_NOTE, field)
    try:
        if note_id:
            return note_address(str(note_id), *_tokens(str(note_id), str(url or ""), str(token), str(source)))
        return parse_note_url(str(url or "")).with_token(str(token), str(source))
    except NotANote as wrong:
        raise invalid(NOT_A_NOTE, str(wrong) if field == "note_id" else field) from None


def _tokens(note_id: str, url: str, token: str, source: str) -> tuple[str, str]:
    """What is said beside the id, or else in the address of the same note."""
    if token:
        return token, source
    try:
        there = parse_note_url(url)
    except NotANote:
        return "", source
    return (there.xsec_token, source or there.xsec_source) if there.note_id == note_id else ("", source)


def read_batch(payload: Payload) -> list[NoteAddress]:
    items = payload.get("items")
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_BATCH_SIZE:
        raise invalid(BAD_BATCH, "items")
    return [read_address(_mapping(item, f"items.{n}"), f"items.{n}") for n, item in enumerate(items)]


def read_found(payload: Payload) -> list[Found]:
    items = payload.get("items")
    if not isinstance(items, list) or not 1 <= len(items) <= MOST_FOUND:
        raise invalid(BAD_ITEMS, "items")
    return [_found(_mapping(item, f"items.{n}"), f"items.{n}") for n, item in enumerate(items)]


def _found(item: Payload, field: str) -> Found:
    address = read_address(item, field)
    url = str(item.get("note_url") or "")
    return Found(
        note_id=address.note_id,
        platform=read_name(item.get("platform") or DEFAULT_PLATFORM, f"{field}.platform", 30),
        note_url=bare_url(clean_text(url))[:2048] if url.startswith(("http://", "https://")) else "",
        source_keyword=cut(str(item.get("source_keyword") or ""), LONGEST_KEYWORD),
        xsec_token=address.xsec_token,
        xsec_source=address.xsec_source,
        title=cut(str(item.get("title") or ""), 300),
    )


def read_holder(payload: Payload) -> Holder:
    execution_id, fence = payload.get("execution_id"), payload.get("fence")
    if not isinstance(execution_id, str) or not 1 <= len(execution_id) <= 100 or not _is_between(fence, 1, 2**62):
        raise invalid(BAD_HOLDER, "execution_id")
    return Holder(execution_id, int(str(fence)))


def read_name(value: Any, field: str, length: int = 100) -> str:
    """A short name that may stand in a column and in a log: letters of any script, digits, space, dot, dash."""
    text = clean_text(str(value)).strip() if isinstance(value, str) else ""
    if not 1 <= len(text) <= length or not all(c.isalnum() or c in " ._-:/@" for c in text):
        raise invalid(BAD_WORD, field)
    return text


def read_number(payload: Payload, field: str, default: int, least: int, most: int) -> int:
    value = payload.get(field, default)
    if not _is_between(value, least, most):
        raise invalid(BAD_NUMBER, field)
    return int(value)


def read_seconds(payload: Payload, most: float) -> float | None:
    value = payload.get("timeout_seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= most:
        raise invalid(BAD_NUMBER, "timeout_seconds")
    return float(value)


def read_result(note_id: str, result: Any) -> NoteRecord:
    """The note that a caller wants to have written. It went through other hands, so it is read like anything else.

    Also the whole answer of detail, or one item of a batch, if it brought a note.
    """
    given = _mapping(result, "result")
    if "success" in given:
        given = _mapping(given.get("data") if given["success"] is True else None, "result")
    if str(given.get("note_id") or note_id) != note_id:
        raise invalid(BAD_RESULT, "result.note_id")
    counts, tags, media = given.get("counts") or {}, given.get("tags") or [], given.get("media") or []
    if not isinstance(counts, dict) or not isinstance(tags, list) or not isinstance(media, list):
        raise invalid(BAD_RESULT, "result")
    return NoteRecord(
        note_id=note_id,
        note_type="video" if given.get("note_type") == "video" else "normal",
        title=cut(_text(given, "title"), 300),
        content=_text(given, "content")[:LONGEST_CONTENT],
        author_id=cut(_text(given, "author_id"), 64),
        author_name=cut(_text(given, "author_name"), 100),
        counts={name: _count(counts.get(name)) for name in COUNTS},
        tags=tuple(cut(tag, 60) for tag in tags[:MOST_TAGS] if isinstance(tag, str)),
        media=tuple(_medium(one) for one in media[:MOST_MEDIA] if isinstance(one, dict)),
        published_at=_moment(given.get("published_at")),
        edited_at=_moment(given.get("edited_at")),
    )


def _count(value: Any) -> Count:
    if not isinstance(value, dict):
        return Count()
    number = value.get("value")
    known = number if _is_between(number, 0, 10**15) else None
    return Count(known, bool(value.get("exact")) and known is not None, cut(str(value.get("raw") or ""), 40))


def _medium(value: dict[str, Any]) -> Media:
    url = str(value.get("url") or "")
    sizes = [n if _is_between(n := value.get(name), 0, 2**31) else None for name in ("width", "height", "duration_ms")]
    return Media(
        kind="video" if value.get("kind") == "video" else "image",
        url=url[:2048] if url.startswith(("http://", "https://")) else "",
        width=sizes[0],
        height=sizes[1],
        duration_ms=sizes[2],
        file_id=cut(str(value.get("file_id") or ""), 100),
    )


def _moment(value: Any) -> datetime | None:
    try:
        return clock.parse(value) if isinstance(value, str) and value else None
    except ValueError:
        return None


def _text(given: Payload, name: str) -> str:
    value = given.get(name)
    return clean_text(value) if isinstance(value, str) else ""


def _mapping(value: Any, field: str) -> Payload:
    if not isinstance(value, dict):
        raise invalid(BAD_RESULT if field == "result" else NOT_A_NOTE, field)
    return value


def _is_between(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
