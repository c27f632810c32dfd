"""Requests to the platform through the adapter that NOTES_ADAPTER names, with one login each.

`standin` is for tests and demo, `page` for one public note page, `remote` for a crawler service. None of them signs
requests, solves captchas, hides itself or rotates addresses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from urllib.parse import urlencode

from django.utils.translation import gettext_noop

from watchbook.base.logs import request_id
from watchbook.base.logs.redact import remember
from watchbook.base.web import client, rate_limit
from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Refused
from watchbook.base.web.response import Answer, CookieJar
from watchbook.systems.notes import options
from watchbook.systems.notes.fetch.refusals import as_notes_errors, check_answer
from watchbook.systems.notes.parse.documents import EMPTY, LOGIN_REQUIRED, NOT_READABLE, NOTE_GONE, PlatformRefusal
from watchbook.systems.notes.parse.note import (
    parse_capabilities,
    parse_comments,
    parse_creator,
    parse_feed,
    parse_page,
    parse_search,
)
from watchbook.systems.notes.parse.records import (
    CardRecord,
    CommentPage,
    CreatorPage,
    NoteAddress,
    NoteRecord,
    SearchPage,
)
from watchbook.systems.notes.rules import Code, NotesError

# Share of the time limit for waiting on the rate limit; the rest is for the response.
WAITING_SHARE = 0.6


GENERAL, ANY_TYPE, ANY_TIME = "general", "all", "any"
TIME_RANGES = {"day": timedelta(days=1), "week": timedelta(days=7), "half_year": timedelta(days=183)}


@dataclass(frozen=True)
class SearchQuery:
    keyword: str
    page: int = 1
    page_size: int = 20
    sort: str = GENERAL
    note_type: str = ANY_TYPE
    time_range: str = ANY_TIME

    @property
    def narrowed(self) -> dict[str, str]:
        """What differs from a plain search, so that a service of the first contract gets the body it knows."""
        plain = {"sort": GENERAL, "note_type": ANY_TYPE, "time_range": ANY_TIME}
        return {name: value for name, usual in plain.items() if (value := getattr(self, name)) != usual}

    def allows(self, card: CardRecord, now: datetime) -> bool:
        """Whether a result is of the type and time that were asked for: a service may not know these fields."""
        if self.note_type not in (ANY_TYPE, card.note_type):
            return False
        longest = TIME_RANGES.get(self.time_range)
        return longest is None or card.published_at is None or card.published_at >= now - longest


@dataclass
class Login:
    """Account, cookie and user agent of one lease. The cookie is not part of its repr."""

    account: str = ""
    cookie: str = field(default="", repr=False)
    user_agent: str = ""
    jar: CookieJar = field(default_factory=CookieJar, repr=False)

    def jar_for(self, base_url: str) -> CookieJar:
        """Return the cookie jar of this host. Cookies that the platform sets are kept."""
        if not len(self.jar) and self.cookie:
            self.jar.put(check_url(base_url).host, dict(pairs_of(self.cookie)))
        return self.jar

    def refreshed(self, base_url: str) -> str:
        """Return the changed cookie, or an empty string if the platform did not change it."""
        before = dict(pairs_of(self.cookie))
        after = self.jar.values(check_url(base_url).host)
        if not after or all(before.get(name) == value for name, value in after.items()):
            return ""
        return remember("; ".join(f"{name}={value}" for name, value in {**before, **after}.items()))

    def headers(self, **more: str) -> dict[str, str]:
        found = {"X-Request-ID": request_id(), **more}
        if self.user_agent:
            found["User-Agent"] = self.user_agent
        return {name: value for name, value in found.items() if value}


def pairs_of(cookie: str) -> Iterator[tuple[str, str]]:
    """`a=1; b=2` as pairs."""
    for part in cookie.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name:
            yield name, value.strip()


@dataclass(frozen=True)
class Times:
    """Time limits for the rate limit and for the response, together at most the given seconds."""

    wait_seconds: float
    deadline_seconds: float

    @classmethod
    def within(cls, seconds: float, url: str) -> Times:
        seconds = max(seconds, 0.1)
        if rate_limit.is_disabled(url):
            return cls(0.0, seconds)
        return cls(seconds * WAITING_SHARE, seconds * (1 - WAITING_SHARE))


@dataclass(frozen=True)
class CreatorQuery:
    """One page of the notes of a creator. The ID is not part of its repr."""

    user_id: str = field(repr=False)
    cursor: str = ""
    num: int = 30
    xsec_token: str = field(default="", repr=False)
    xsec_source: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "cursor": self.cursor, "num": self.num, **self._tokens()}

    def _tokens(self) -> dict[str, str]:
        tokens = {"xsec_token": self.xsec_token, "xsec_source": self.xsec_source}
        return {name: value for name, value in tokens.items() if value}


@dataclass(frozen=True)
class CommentQuery:
    """One page of the comments of a note."""

    note_id: str
    cursor: str = ""
    xsec_token: str = field(default="", repr=False)
    xsec_source: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


# What an adapter can be asked for. A crawler service names them; one of the first contract has the first two.
CAN_SEARCH, CAN_READ, CAN_LIST, CAN_COMMENT = "search", "detail", "creator", "comments"
FIRST_CONTRACT = frozenset({CAN_SEARCH, CAN_READ})
CAPABILITY_SECONDS = 10.0


class Adapter(Protocol):
    """A way to read the platform. All requests raise NotesError."""

    name: str
    base_url: str
    can_search: bool

    def search(self, query: SearchQuery, login: Login, seconds: float) -> SearchPage: ...

    def detail(self, address: NoteAddress, login: Login, seconds: float) -> NoteRecord: ...

    def creator(self, query: CreatorQuery, login: Login, seconds: float) -> CreatorPage: ...

    def comments(self, query: CommentQuery, login: Login, seconds: float) -> CommentPage: ...

    def capabilities(self, seconds: float) -> frozenset[str]: ...


MAX_JSON_BYTES, MAX_PAGE_BYTES = 4 * 1024 * 1024, 6 * 1024 * 1024
ITEM = "/discovery/item/"
SEARCH, FEED = "/api/sns/web/v1/search/notes", "/api/sns/web/v1/feed"
POSTED, COMMENTS = "/api/sns/web/v1/user_posted", "/api/sns/web/v2/comment/page"
# How the platform's own search names types and times.
NOTE_TYPES = {ANY_TYPE: 0, "video": 1, "normal": 2}
TIME_LABELS = {"day": "一天内", "week": "一周内", "half_year": "半年内"}
CANNOT_LIST = gettext_noop(
    "The adapter cannot list the notes of a creator. Use the remote adapter with a service that can."
)
CANNOT_SEARCH = gettext_noop("The page adapter cannot search. Use the remote adapter.")


class StandIn:
    """The stand-in platform: the endpoints of the web API without request signatures."""

    name = "standin"
    can_search = True

    def __init__(self) -> None:
        self.base_url = options.STANDIN_URL.value.rstrip("/")

    def search(self, query: SearchQuery, login: Login, seconds: float) -> SearchPage:
        body: dict[str, Any] = {"keyword": query.keyword, "page": query.page, "page_size": query.page_size}
        body |= {"sort": query.sort, "note_type": NOTE_TYPES[query.note_type]}
        if label := TIME_LABELS.get(query.time_range):
            body["filters"] = [{"type": "filter_note_time", "tags": [label]}]
        with as_notes_errors():
            return parse_search(self._post(SEARCH, body, login, seconds))

    def detail(self, address: NoteAddress, login: Login, seconds: float) -> NoteRecord:
        body = {
            "source_note_id": address.note_id,
            "image_formats": ["jpg", "webp", "avif"],
            "extra": {"need_body_topic": 1},
            "xsec_source": address.xsec_source or "pc_search",
            "xsec_token": address.xsec_token,
        }
        with as_notes_errors():
            return parse_feed(self._post(FEED, body, login, seconds), address.note_id)

    def creator(self, query: CreatorQuery, login: Login, seconds: float) -> CreatorPage:
        with as_notes_errors():
            return parse_creator(self._post(POSTED, query.as_json(), login, seconds))

    def comments(self, query: CommentQuery, login: Login, seconds: float) -> CommentPage:
        with as_notes_errors():
            return parse_comments(self._post(COMMENTS, query.as_json(), login, seconds))

    def capabilities(self, seconds: float) -> frozenset[str]:
        return FIRST_CONTRACT | {CAN_LIST, CAN_COMMENT}

    def _post(self, path: str, body: dict[str, Any], login: Login, seconds: float) -> bytes:
        times = Times.within(seconds, self.base_url)
        answer = client.send(
            "POST",
            self.base_url + path,
            json.dumps(body, ensure_ascii=False).encode(),
            login.headers(**{"Content-Type": "application/json"}),
            jar=login.jar_for(self.base_url),
            max_bytes=MAX_JSON_BYTES,
            raise_for_status=False,
            account=login.account,
            wait_seconds=times.wait_seconds,
            deadline_seconds=times.deadline_seconds,
        )
        check_answer(answer)
        return answer.body


class Page:
    """One public page of one note with the operator's own cookie, at a low rate. Cannot search."""

    name = "page"
    can_search = False

    def __init__(self) -> None:
        self.base_url = options.PAGE_URL.value.rstrip("/")

    def search(self, query: SearchQuery, login: Login, seconds: float) -> SearchPage:
        raise NotesError(Code.INVALID_INPUT, CANNOT_SEARCH, reason="cannot_search")

    def detail(self, address: NoteAddress, login: Login, seconds: float) -> NoteRecord:
        """Read the note page. If its state cannot be parsed, the `/discovery/item/` page of the note is asked once."""
        ends = time.monotonic() + seconds
        with as_notes_errors():
            try:
                return self._read(self._get("/explore/", address, login, seconds), address.note_id)
            except PlatformRefusal as refusal:
                if refusal.reason != NOT_READABLE:
                    raise
                first = refusal
            try:
                return self._read(self._get(ITEM, address, login, ends - time.monotonic()), address.note_id)
            except PlatformRefusal as refusal:
                raise (first if refusal.reason in {NOT_READABLE, NOTE_GONE} else refusal) from None

    def creator(self, query: CreatorQuery, login: Login, seconds: float) -> CreatorPage:
        raise NotesError(Code.INVALID_INPUT, CANNOT_LIST, reason="cannot_list", retryable=False)

    def comments(self, query: CommentQuery, login: Login, seconds: float) -> CommentPage:
        raise NotesError(Code.INVALID_INPUT, CANNOT_LIST, reason="cannot_list", retryable=False)

    def capabilities(self, seconds: float) -> frozenset[str]:
        return frozenset({CAN_READ})

    def _get(self, path: str, address: NoteAddress, login: Login, seconds: float) -> Answer:
        tokens = {"xsec_token": address.xsec_token, "xsec_source": address.xsec_source or "pc_search"}
        times = Times.within(seconds, self.base_url)
        query = f"?{urlencode(tokens)}" if address.xsec_token else ""
        answer = client.get(
            f"{self.base_url}{path}{address.note_id}{query}",
            headers=login.headers(),
            jar=login.jar_for(self.base_url),
            max_bytes=MAX_PAGE_BYTES,
            follow=0,
            raise_for_status=False,
            account=login.account,
            spacing_seconds=options.PAGE_SPACING.value,
            wait_seconds=times.wait_seconds,
            deadline_seconds=times.deadline_seconds,
        )
        check_answer(answer, may_be_missing=True)
        return answer

    def _read(self, answer: Answer, note_id: str) -> NoteRecord:
        try:
            return parse_page(answer.text, note_id)
        except PlatformRefusal as refusal:
            # The page of a 404 may carry the reason; without one the note does not exist.
            if answer.status in {404, 410} and refusal.reason in {NOT_READABLE, EMPTY, LOGIN_REQUIRED}:
                raise PlatformRefusal(NOTE_GONE, f"status {answer.status}") from refusal
            raise


class Remote:
    """A crawler service that the operator runs. Gets the leased cookie and returns the platform's own envelope."""

    name = "remote"
    can_search = True

    def __init__(self) -> None:
        self.base_url = options.REMOTE_URL.value.rstrip("/")

    def search(self, query: SearchQuery, login: Login, seconds: float) -> SearchPage:
        body = {"keyword": query.keyword, "page": query.page, "page_size": query.page_size, **query.narrowed}
        with as_notes_errors():
            return parse_search(self._post("/search", body, login, seconds))

    def detail(self, address: NoteAddress, login: Login, seconds: float) -> NoteRecord:
        body = {
            "note_id": address.note_id,
            "xsec_token": address.xsec_token,
            "xsec_source": address.xsec_source,
        }
        with as_notes_errors():
            return parse_feed(self._post("/detail", body, login, seconds), address.note_id)

    def creator(self, query: CreatorQuery, login: Login, seconds: float) -> CreatorPage:
        with as_notes_errors():
            return parse_creator(self._post("/creator", query.as_json(), login, seconds))

    def comments(self, query: CommentQuery, login: Login, seconds: float) -> CommentPage:
        with as_notes_errors():
            return parse_comments(self._post("/comments", query.as_json(), login, seconds))

    def capabilities(self, seconds: float) -> frozenset[str]:
        """Ask the service what it can do. One that does not know the question speaks the first contract."""
        with as_notes_errors():
            answer = self._send("/capabilities", {}, Login(), seconds)
            if answer.status in {400, 404, 405, 501}:
                return FIRST_CONTRACT
            check_answer(answer)
            return parse_capabilities(answer.body) | FIRST_CONTRACT

    def _post(self, path: str, body: dict[str, Any], login: Login, seconds: float) -> bytes:
        answer = self._send(path, body, login, seconds)
        check_answer(answer)
        return answer.body

    def _send(self, path: str, body: dict[str, Any], login: Login, seconds: float) -> Answer:
        token = options.REMOTE_TOKEN.value
        secrets = {"Cookie": login.cookie, "Authorization": f"Bearer {token}" if token else ""}
        times = Times.within(seconds, self.base_url)
        return client.send(
            "POST",
            self.base_url + path,
            json.dumps(body, ensure_ascii=False).encode(),
            login.headers(**{"Content-Type": "application/json"}),
            secrets={name: value for name, value in secrets.items() if value},
            max_bytes=MAX_JSON_BYTES,
            raise_for_status=False,
            account=login.account,
            wait_seconds=times.wait_seconds,
            deadline_seconds=times.deadline_seconds,
        )


NONE = gettext_noop("No adapter is enabled. An operator chooses one under Settings.")
NOT_CONFIRMED = gettext_noop("This adapter reads a live platform. Read its terms, then confirm them under Settings.")
NOT_A_STANDIN = gettext_noop("NOTES_STANDIN_URL must be named in WATCHBOOK_TRUSTED_HOSTS.")
NO_ADDRESS = gettext_noop("The adapter has no address.")


def adapter_name() -> str:
    return options.ADAPTER.value


def adapter() -> Adapter:
    """Return the configured adapter, or raise NotesError with a sentence for the operator."""
    name = adapter_name()
    if not name:
        raise _not_ready(NONE)
    if name != "standin" and not options.TERMS_CONFIRMED.value:
        raise _not_ready(NOT_CONFIRMED)
    kinds: dict[str, Callable[[], Adapter]] = {"standin": StandIn, "page": Page, "remote": Remote}
    made = kinds[name]()
    if not made.base_url:
        raise _not_ready(NO_ADDRESS)
    if name == "standin" and not _is_trusted_url(made.base_url):
        raise _not_ready(NOT_A_STANDIN)
    return made


def _is_trusted_url(url: str) -> bool:
    """Whether the operator listed this URL as trusted: the stand-in needs no confirmed terms."""
    try:
        place = check_url(url)
    except Refused:
        return False
    return is_trusted(place.host, place.port)


def _not_ready(message: str) -> NotesError:
    return NotesError(Code.PLATFORM_ERROR, message, reason="no_adapter", retryable=False)
