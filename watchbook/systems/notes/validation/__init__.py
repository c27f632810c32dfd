"""Request bodies as pydantic models, checked and bounded before anything is done with them.

`parse(Model, payload)` raises NotesError(INVALID_INPUT) that names the fields. Unknown fields are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.systems.notes.encryption import hide_author
from watchbook.systems.notes.fetch import SearchQuery
from watchbook.systems.notes.parse.documents import PlatformRefusal
from watchbook.systems.notes.parse.note import (
    COUNTS,
    MOST_MEDIA,
    MOST_OTHERS,
    MOST_TAGS,
    as_address,
    as_dict,
    parse_card,
)
from watchbook.systems.notes.parse.records import (
    Count,
    InvalidNoteAddress,
    Media,
    NoteAddress,
    NoteRecord,
    bare_url,
    note_address,
    parse_note_url,
)
from watchbook.systems.notes.rules import (
    BATCH_SIZE,
    DEFAULT_PLATFORM,
    MAX_BATCH_SIZE,
    MAX_CLAIM,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    Code,
    NotesError,
    invalid,
)
from watchbook.systems.notes.store import Holder
from watchbook.systems.notes.store.candidates import FoundNote

LONGEST_KEYWORD = 200
LONGEST_CONTENT = 100_000
MOST_FOUND = 500
MEDIA_KINDS = ("image", "video", "live_photo")

NOT_A_NOTE = gettext_noop("Give a note ID with its token, or a note URL.")
NO_KEYWORD = gettext_noop("Enter a keyword of up to 200 characters.")
BAD_PAGE = gettext_noop("page must be 1 to 100 and page_size 1 to 50.")
BAD_BATCH = gettext_noop("Give 1 to 20 notes.")
BAD_ITEMS = gettext_noop("Give 1 to 500 items.")
BAD_HOLDER = gettext_noop("Give the execution_id and the fence returned by acquire.")
BAD_RESULT = gettext_noop("The result is not a note in the format of the detail endpoint.")
BAD_WORD = gettext_noop("This name is not valid.")
BAD_NUMBER = gettext_noop("This number is out of range.")
BAD_STATUS = gettext_noop("status must be completed or failed.")
BAD_ERROR = gettext_noop("Give the error as an object with a code.")
OTHER_PLATFORM = gettext_noop("All notes of a batch must be of its platform.")
BAD_SORT = gettext_noop(
    "sort must be general, time_descending, popularity_descending, comment_descending or collect_descending."
)
BAD_TYPE = gettext_noop("note_type must be all, normal or video.")
BAD_RANGE = gettext_noop("time_range must be any, day, week or half_year.")
UNKNOWN_FIELD = gettext_noop("This field is unknown.")
NOT_VALID = gettext_noop("This value is not valid.")

Payload = Mapping[str, Any]
Text = Annotated[str, Field(max_length=2048)]
Name = Annotated[str, Field(min_length=1, max_length=100)]


Sort = Literal["general", "time_descending", "popularity_descending", "comment_descending", "collect_descending"]
SearchedType = Literal["all", "normal", "video"]
Range = Literal["any", "day", "week", "half_year"]
NARROWING_SENTENCES = {"sort": BAD_SORT, "note_type": BAD_TYPE, "time_range": BAD_RANGE}


class Body(BaseModel):
    """A request body. Its sentences by field are shown instead of pydantic's own."""

    model_config = ConfigDict(extra="forbid", strict=True)
    sentences: ClassVar[dict[str, str]] = {}


class SearchBody(Body):
    sentences = {
        "keyword": NO_KEYWORD, "page": BAD_PAGE, "page_size": BAD_PAGE, "timeout_seconds": BAD_NUMBER,
        **NARROWING_SENTENCES,
    }  # fmt: skip

    keyword: str = Field(max_length=LONGEST_KEYWORD)
    page: int = Field(1, ge=1, le=MAX_PAGE)
    page_size: int = Field(20, ge=1, le=MAX_PAGE_SIZE)
    timeout_seconds: float | None = Field(None, ge=0.1, le=60)
    sort: Sort = "general"
    note_type: SearchedType = "all"
    time_range: Range = "any"


class AddressBody(Body):
    """`note_id` with its token, or `note_url`. A record of claim can be sent as it is."""

    note_id: Text | None = None
    note_url: Text | None = None
    xsec_token: Annotated[str, Field(max_length=500)] | None = None
    xsec_source: Annotated[str, Field(max_length=40)] | None = None
    platform: Annotated[str, Field(max_length=30)] | None = None
    source_keyword: Annotated[str, Field(max_length=2048)] | None = None
    retry_count: int | None = None
    locked_at: str | None = None

    @property
    def platform_name(self) -> str:
        return self.platform or DEFAULT_PLATFORM


class DetailBody(AddressBody):
    sentences = {"timeout_seconds": BAD_NUMBER}

    timeout_seconds: float | None = Field(None, ge=0.1, le=30)


class BatchBody(Body):
    sentences = {"items": BAD_BATCH, "timeout_seconds": BAD_NUMBER, "platform": BAD_WORD}

    items: list[AddressBody] = Field(min_length=1, max_length=MAX_BATCH_SIZE)
    platform: str = Field(DEFAULT_PLATFORM, min_length=1, max_length=30)
    timeout_seconds: float | None = Field(None, ge=0.1, le=120)


class FoundBody(AddressBody):
    title: Text | None = None


class CandidatesBody(Body):
    sentences = {"items": BAD_ITEMS}

    items: list[FoundBody] = Field(min_length=1, max_length=MOST_FOUND)


class AcquireBody(Body):
    sentences = {"workflow_name": BAD_WORD}

    workflow_name: Name


class HolderBody(Body):
    sentences = {"execution_id": BAD_HOLDER, "fence": BAD_HOLDER}

    execution_id: Name
    fence: int = Field(ge=1, le=2**62)

    @property
    def holder(self) -> Holder:
        return Holder(self.execution_id, self.fence)


class ClaimBody(HolderBody):
    sentences = {**HolderBody.sentences, "batch_size": BAD_NUMBER, "platform": BAD_WORD}

    batch_size: int = Field(BATCH_SIZE, ge=1, le=MAX_CLAIM)
    platform: str = Field(DEFAULT_PLATFORM, min_length=1, max_length=30)


class CommitBody(HolderBody):
    sentences = {**HolderBody.sentences, "note_id": NOT_A_NOTE, "result": BAD_RESULT, "meta": NOT_VALID}

    note_id: Text
    result: dict[str, Any]
    meta: dict[str, Any] | None = None


class ErrorBody(Body):
    """An error as the API returns it."""

    code: str = Field(min_length=1, max_length=100)
    message: str = ""
    retryable: bool = False
    reason: str = ""
    asked: bool = True
    outage: bool = False
    details: Any = None


class FailBody(HolderBody):
    sentences = {**HolderBody.sentences, "note_id": NOT_A_NOTE, "error": BAD_ERROR}

    note_id: Text
    error: ErrorBody


class ReleaseBody(HolderBody):
    sentences = {**HolderBody.sentences, "status": BAD_STATUS}

    status: Literal["completed", "failed"] = "completed"


class RecoverBody(Body):
    pass


class ReadAgainBody(Body):
    sentences = {"note_ids": BAD_ITEMS}

    note_ids: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(min_length=1, max_length=MOST_FOUND)


class ReportBody(Body):
    sentences = {"workflow_name": BAD_WORD}

    workflow_name: Name
    message: str = ""
    node: str = ""


B = TypeVar("B", bound=Body)


def parse(model: type[B], payload: Payload) -> B:
    """Return the body as this model, or raise NotesError that names every wrong field."""
    try:
        return model.model_validate(payload)
    except ValidationError as wrong:
        details = [_detail(model, error) for error in wrong.errors(include_url=False, include_input=False)[:50]]
    details.sort(key=lambda one: one["message"] == UNKNOWN_FIELD)
    found = [{"field": one["field"], "message": _(one["message"])} for one in details]
    raise NotesError(Code.INVALID_INPUT, details[0]["message"], details=found) from None


def _detail(model: type[Body], error: Any) -> dict[str, str]:
    place = [str(step) for step in error["loc"]]
    if error["type"] == "extra_forbidden":
        return {"field": ".".join(place)[:200], "message": UNKNOWN_FIELD}
    sentence = model.sentences.get(place[0] if place else "", NOT_VALID)
    if place[:1] == ["items"] and len(place) > 1:
        return {"field": ".".join(place[:2]), "message": NOT_A_NOTE}
    return {"field": place[0] if place else "", "message": sentence}


def read_query(body: SearchBody) -> SearchQuery:
    keyword = clean_text(body.keyword).strip()
    if not keyword:
        raise invalid(NO_KEYWORD, "keyword")
    return SearchQuery(
        keyword, body.page, body.page_size, sort=body.sort, note_type=body.note_type, time_range=body.time_range
    )


def read_address(body: AddressBody, field: str = "note_id") -> NoteAddress:
    """Return the note of `note_id` with its token, or of `note_url`. The token may also be in the URL beside an ID."""
    url, token, source = body.note_url or "", body.xsec_token or "", body.xsec_source or ""
    try:
        if body.note_id:
            return note_address(body.note_id, *_tokens(body.note_id, url, token, source))
        return parse_note_url(url).with_token(token, source)
    except InvalidNoteAddress as wrong:
        raise invalid(NOT_A_NOTE, str(wrong) if field == "note_id" else field) from None


def _tokens(note_id: str, url: str, token: str, source: str) -> tuple[str, str]:
    """Return the token given beside the ID, or else the one in the URL of the same note."""
    if token:
        return token, source
    try:
        there = parse_note_url(url)
    except InvalidNoteAddress:
        return "", source
    return (there.xsec_token, source or there.xsec_source) if there.note_id == note_id else ("", source)


def read_batch(body: BatchBody) -> list[NoteAddress]:
    for number, item in enumerate(body.items):
        if item.platform and item.platform != body.platform:
            raise invalid(OTHER_PLATFORM, f"items.{number}.platform")
    return [read_address(item, f"items.{number}") for number, item in enumerate(body.items)]


def read_found(body: CandidatesBody) -> list[FoundNote]:
    return [_found(item, f"items.{number}") for number, item in enumerate(body.items)]


def _found(item: FoundBody, field: str) -> FoundNote:
    address = read_address(item, field)
    url = item.note_url or ""
    return FoundNote(
        note_id=address.note_id,
        platform=read_name(item.platform_name, f"{field}.platform", 30),
        note_url=bare_url(clean_text(url))[:2048] if url.startswith(("http://", "https://")) else "",
        source_keyword=cut(item.source_keyword or "", LONGEST_KEYWORD),
        xsec_token=address.xsec_token,
        xsec_source=address.xsec_source,
        title=cut(item.title or "", 300),
    )


def read_name(value: str, field: str, length: int = 100) -> str:
    """Return a short name for a column and a log: letters of any script, digits, space, dot, dash."""
    text = clean_text(value).strip()
    if not 1 <= len(text) <= length or not all(c.isalnum() or c in " ._-:/@" for c in text):
        raise invalid(BAD_WORD, field)
    return text


def read_number(payload: Payload, field: str, default: int, least: int, most: int) -> int:
    value = payload.get(field, default)
    if not _is_between(value, least, most):
        raise invalid(BAD_NUMBER, field)
    return int(value)


RESULT_FIELDS = frozenset(NoteRecord.__dataclass_fields__)
CARD_FIELDS = frozenset({"interact_info", "interactInfo", "image_list", "imageList", "desc", "display_title", "user"})


def read_result(note_id: str, result: Payload) -> tuple[NoteRecord, list[str]]:
    """Return the note to save, and the parts of the result that are skipped because they are not valid.

    Accepted are `data` of detail, a whole response of detail, one item of a batch, and a card of the platform.
    Everything else is refused: a note that was saved once is never changed again.
    """
    given = result
    if "success" in given:
        given = as_dict(given.get("data")) if given["success"] is True else {}
    card = as_dict(given.get("note_card")) or (given if CARD_FIELDS & set(given) else {})
    note, omitted = (_card_result(note_id, card), []) if card else _note_result(note_id, given)
    if not (note.title or note.content or note.media or note.tags):
        raise invalid(BAD_RESULT, "result")
    return note, omitted


def _card_result(note_id: str, card: Payload) -> NoteRecord:
    try:
        return hide_author(parse_card(dict(card), note_id))
    except PlatformRefusal:
        raise invalid(BAD_RESULT, "result.note_id") from None


def _note_result(note_id: str, given: Payload) -> tuple[NoteRecord, list[str]]:
    if str(given.get("note_id") or note_id) != note_id:
        raise invalid(BAD_RESULT, "result.note_id")
    unknown = sorted(set(given) - RESULT_FIELDS)
    if unknown:
        raise invalid(UNKNOWN_FIELD, f"result.{unknown[0]}"[:200])
    counts, tags, media = given.get("counts") or {}, given.get("tags") or [], given.get("media") or []
    if not isinstance(counts, dict) or not isinstance(tags, list) or not isinstance(media, list):
        raise invalid(BAD_RESULT, "result")
    omitted: list[str] = []
    note = NoteRecord(
        note_id=note_id,
        note_type="video" if given.get("note_type") == "video" else "normal",
        title=cut(_text(given, "title", omitted), 300),
        content=_text(given, "content", omitted)[:LONGEST_CONTENT],
        author_id=cut(_text(given, "author_id", omitted), 64),
        author_name=cut(_text(given, "author_name", omitted), 100),
        counts={name: _count(counts.get(name)) for name in COUNTS},
        tags=tuple(cut(tag, 60) for tag in tags[:MOST_TAGS] if isinstance(tag, str)),
        media=tuple(_medium(one, n, omitted) for n, one in enumerate(media[:MOST_MEDIA]) if isinstance(one, dict)),
        published_at=_moment(given, "published_at", omitted),
        edited_at=_moment(given, "edited_at", omitted),
        skipped=tuple(cut(str(one), 80) for one in given.get("skipped") or () if isinstance(one, str))[:50],
    )
    omitted += [f"counts.{name}"[:80] for name in counts if name not in COUNTS]
    omitted += ["tags"] * (len(note.tags) != len(tags)) + ["media"] * (len(note.media) != len(media))
    omitted += ["content"] * (len(_text(given, "content", [])) > LONGEST_CONTENT)
    return note, list(dict.fromkeys(omitted))[:50]


def _count(value: Any) -> Count:
    given = as_dict(value)
    number = given.get("value")
    known = number if _is_between(number, 0, 10**15) else None
    return Count(known, bool(given.get("exact")) and known is not None, cut(str(given.get("raw") or ""), 40))


def _medium(value: dict[str, Any], number: int, omitted: list[str]) -> Media:
    url, kind = str(value.get("url") or ""), value.get("kind")
    is_safe = url.startswith(("http://", "https://")) and len(url) <= 2048
    sizes = [n if _is_between(n := value.get(name), 0, 2**31) else None for name in ("width", "height", "duration_ms")]
    if not is_safe or kind not in MEDIA_KINDS:
        omitted.append(f"media.{number}")
    return Media(
        kind=str(kind) if kind in MEDIA_KINDS else "image",
        url=url if is_safe else "",
        width=sizes[0],
        height=sizes[1],
        duration_ms=sizes[2],
        file_id=cut(str(value.get("file_id") or ""), 100),
        others=_others(value.get("others"), number, omitted),
    )


def _others(value: Any, number: int, omitted: list[str]) -> tuple[str, ...]:
    given = value if isinstance(value, list) else []
    found = tuple(address for one in given[:MOST_OTHERS] if (address := as_address(one)))
    if value and len(found) != len(given):
        omitted.append(f"media.{number}.others")
    return found


def _moment(given: Payload, name: str, omitted: list[str]) -> datetime | None:
    value = given.get(name)
    try:
        return clock.parse(value) if isinstance(value, str) and value else None
    except ValueError:
        omitted.append(name)
        return None


def _text(given: Payload, name: str, omitted: list[str]) -> str:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        omitted.append(name)
    return clean_text(value) if isinstance(value, str) else ""


def _is_between(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
