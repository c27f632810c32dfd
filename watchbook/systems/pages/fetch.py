"""Requests for pages and robots.txt; follows redirects itself, because their status codes matter.

PageTrouble
|-- Wall          a login, check or cookie page in the place of the page; the page may be there
|-- Soft404       an error page with status 200; the page may be there
|-- Unselected    the selectors of a rule match nothing; the page or the rule must change
|-- NotAPage      a file where a page was asked for; only for the library
`-- Unreadable    no markup and no text; nothing is known about the page
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.utils.translation import gettext_noop

from watchbook.base import sandbox
from watchbook.base.store.folder import scratch
from watchbook.base.text import cut
from watchbook.base.web import client
from watchbook.base.web.address import check_url
from watchbook.base.web.body import declared_charset
from watchbook.base.web.errors import BadAnswer, TooManyRedirects, WebError
from watchbook.base.web.response import REDIRECTS, Answer, Exchange, Validators, error_for
from watchbook.systems.pages import options
from watchbook.systems.pages.parse import FIELD_LENGTH, Article, PageRecord, Selectors
from watchbook.systems.pages.parse.headers import header_fields, joined
from watchbook.systems.pages.parse.robots import Robots, parse_robots

READ_TASK = "watchbook.systems.pages.parse.text:read_task"
ARTICLE_TASK = "watchbook.systems.pages.parse.article:article_task"
CPU_SECONDS, MEMORY_MB = 10.0, 512.0
HOPS = 5
ROBOTS_BYTES = 512 * 1024
DEADLINE_SECONDS, WAIT_SECONDS = 30.0, 60.0
# A user waits for the page of a clip.
ARTICLE_WAIT_SECONDS = 10.0
MISSING = (404, 410)
PERMANENT = (301, 308)
NO_SELECTORS = Selectors()
ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.5"
HTML = ("", "text/html", "application/xhtml+xml", "application/xml", "text/xml")
_WALL_PATH = re.compile(
    r"/(?:log-?in|sign-?in|auth|sso|anmelden|account/login|passport|consent|cookie-?wall)(?:[/.?]|\Z)", re.IGNORECASE
)
_WALL_HOST = re.compile(r"(?:consent|login|signin|sso|auth|accounts?|passport)\.", re.IGNORECASE)


class PageTrouble(WebError):
    code = "page_trouble"


class Wall(PageTrouble):
    code = "wall"
    message = gettext_noop("The site shows a login, check or cookie page instead of the page.")


class Soft404(PageTrouble):
    code = "soft_404"
    message = gettext_noop("The site shows an error page with status 200.")


class Unreadable(PageTrouble):
    code = "unreadable"
    message = gettext_noop("The page has no readable content.")


class Unselected(PageTrouble):
    code = "unselected"
    message = gettext_noop("The selectors of your rules match nothing on this page.")


class NotAPage(PageTrouble):
    code = "not_a_page"
    message = gettext_noop("This address is a file, not a web page. Upload the file to a page of the library instead.")


SIGNS = {"wall": Wall, "soft_404": Soft404, "unselected": Unselected, "unreadable": Unreadable}


@dataclass(frozen=True)
class Fetched:
    """The answer for one address. `hops` are redirects with their status; `record` is None for 304."""

    status: int
    final_url: str
    hops: tuple[tuple[str, int], ...] = ()
    record: PageRecord | None = None
    validators: Validators = field(default_factory=Validators)
    is_not_modified: bool = False

    @property
    def is_missing(self) -> bool:
        return self.status in MISSING

    @property
    def is_permanent(self) -> bool:
        """Whether every redirect on the way says that it is for ever."""
        return bool(self.hops) and all(status in PERMANENT for _url, status in self.hops)


def fetch_page(
    url: str,
    *,
    validators: Validators | None = None,
    spacing_seconds: float | None = None,
    selectors: Selectors = NO_SELECTORS,
    record: list[Exchange] | None = None,
) -> Fetched:
    """Read a page. 404 and 410 are answers; every other failure raises a WebError. `record` gets every exchange."""
    address = check_url(url).url
    answer, hops = _follow(address, validators=validators, spacing_seconds=spacing_seconds, record=record)
    return _read(answer, hops, selectors)


def fetch_article(url: str) -> Article:
    """Read a page for the library while a user waits: main text with its markup. Every failure raises a WebError."""
    address = check_url(url, own_url=settings.PUBLIC_URL).url
    answer, hops = _follow(address, wait_seconds=ARTICLE_WAIT_SECONDS)
    _check_wall(answer, hops)
    if answer.status >= 300:
        raise error_for(answer)
    if answer.content_type not in HTML and answer.content_type != "text/plain":
        raise NotAPage(answer.content_type)
    return Article.of(answer.url, _call(ARTICLE_TASK, answer, {"url": answer.url}))


def _follow(
    address: str,
    *,
    validators: Validators | None = None,
    spacing_seconds: float | None = None,
    wait_seconds: float = WAIT_SECONDS,
    record: list[Exchange] | None = None,
) -> tuple[Answer, tuple[tuple[str, int], ...]]:
    """Return the answer behind all redirects, and each of these with its status."""
    hops: list[tuple[str, int]] = []
    for _hop in range(HOPS + 1):
        answer = client.get(
            address,
            accept=ACCEPT,
            validators=validators,
            max_bytes=options.PAGE_MEGABYTES.value * 1024 * 1024,
            deadline_seconds=DEADLINE_SECONDS,
            follow=0,
            raise_for_status=False,
            spacing_seconds=spacing_seconds,
            wait_seconds=wait_seconds,
            record=record,
        )
        if answer.status not in REDIRECTS:
            return answer, tuple(hops)
        hops.append((address, answer.status))
        following = _location(answer)
        if following in [past for past, _status in hops]:
            raise TooManyRedirects("a loop")
        address = following
    raise TooManyRedirects(f"{HOPS} redirects")


def _location(answer: Answer) -> str:
    named = answer.headers.all("location")
    if len(named) != 1:
        raise BadAnswer("a redirect without one Location", code="bad_redirect")
    return check_url(urljoin(answer.url, named[0].strip())).url


def _read(answer: Answer, hops: tuple[tuple[str, int], ...], selectors: Selectors) -> Fetched:
    if answer.is_not_modified:
        return Fetched(200, answer.url, hops, None, is_not_modified=True)
    _check_wall(answer, hops)
    if answer.status in MISSING:
        return Fetched(answer.status, answer.url, hops, PageRecord({}, "", 0))
    if answer.status >= 300:
        raise error_for(answer)
    return Fetched(answer.status, answer.url, hops, _record(answer, selectors), answer.validators)


def _check_wall(answer: Answer, hops: tuple[tuple[str, int], ...]) -> None:
    if hops and _is_wall(answer.url) and not _is_wall(hops[0][0]):
        raise Wall("redirected to a login or cookie page")


def _is_wall(url: str) -> bool:
    parts = urlsplit(url)
    return bool(_WALL_PATH.search(parts.path) or _WALL_HOST.match(parts.netloc))


def _record(answer: Answer, selectors: Selectors) -> PageRecord:
    """What page and response say. Documents of another type are kept by their digest."""
    head, kind = answer.headers, answer.content_type
    said = header_fields(head.all("x-robots-tag"), head.all("link"), head.get("refresh", ""))
    if kind not in HTML and kind != "text/plain":
        return PageRecord({**said, "type": kind[:100], "digest": answer.sha256}, "", answer.size)
    record = PageRecord.of(_call(READ_TASK, answer, asdict(selectors)))
    if record.is_empty:
        raise Unreadable
    fields = {name: cut(value, FIELD_LENGTH) for name, value in joined(record.fields, said).items()}
    return replace(record, fields=fields)


def _call(task: str, answer: Answer, argument: dict[str, Any]) -> dict[str, Any]:
    """Let the limited child read an answer. A page that is not what was asked for raises its error."""
    charset = declared_charset(answer.headers.get("content-type", "")) or ""
    with scratch("page") as folder:
        body = folder / "body"
        body.write_bytes(answer.body)
        given = {"charset": charset, "is_plain": answer.content_type == "text/plain", **argument}
        found = dict(sandbox.call(task, given, input_path=body, cpu_seconds=CPU_SECONDS, memory_mb=MEMORY_MB))
    for sign, error in SIGNS.items():
        if sign in found["signs"]:
            raise error
    return found


def fetch_robots(address: str) -> str:
    """The robots.txt of a site; empty when the site has none. Failures of the site raise a WebError."""
    parts = urlsplit(address)
    answer = client.get(
        f"{parts.scheme}://{parts.netloc}/robots.txt",
        max_bytes=ROBOTS_BYTES,
        deadline_seconds=20,
        raise_for_status=False,
        wait_seconds=WAIT_SECONDS,
    )
    if answer.status >= 500 or answer.status == 429:
        raise error_for(answer)
    if answer.status != 200 or "html" in answer.content_type:
        return ""
    if b"\0" in answer.body:
        # Bytes that no text has: an intermediary that garbles everything, and not what the site allows.
        raise BadAnswer("robots.txt is no text", answer=answer)
    return answer.text


def robots_of(text: str) -> Robots:
    return parse_robots(text)
