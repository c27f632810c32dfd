"""Records that recognisers return: what a text is, what can be watched there, and what was added.

Reads a pasted text: finds the address in a share text, repairs common typing errors, splits host, path and query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from watchbook.base.text import clean_text
from watchbook.core.notify.models import NotificationChannel

LONGEST = 5000
LONGEST_URL = 2048
# Characters that end an address inside a Chinese or English sentence.
_STOP = r"\s<>\"'`“”‘’「」『』【】（）《》，。；！？、|^{}"
_INSIDE = re.compile(rf"https?://[^{_STOP}]+", re.IGNORECASE)
# https//x, http:/x, htps://x, ttp://x, https：//x, http;//x, feed://x
_BROKEN = re.compile(r"\A(?:h?t{1,3}p(s?)|hxxp(s?)|http(s?)|feed)\s?[:：;.]?\s?[/／\\]{1,4}(?=[\w\[])", re.IGNORECASE)
_SCHEME = re.compile(r"\A([a-z][a-z0-9+.-]{1,30}):(//)?(?=\S)", re.IGNORECASE)
_OTHER_SCHEMES = {
    "about", "blob", "chrome", "data", "feed", "file", "ftp", "ftps", "gopher", "irc", "javascript", "magnet", "mailto",
    "news", "sftp", "sms", "ssh", "tel", "vbscript", "view-source", "ws", "wss",
}  # fmt: skip
_DOMAIN = re.compile(
    r"\A(?:[\w-]{1,63}\.){1,10}(?:[a-z]{2,24}|xn--[a-z0-9-]{1,59}|[\u4e00-\u9fff]{2,10})\.?(?::\d{1,5})?(?:[/?#]\S*)?\Z",
    re.IGNORECASE,
)
# example,com and example .com: only with endings that are no words
_COMMA = re.compile(r"\A([\w-]{2,63}(?:[.,][\w-]{1,63}){0,3})\s?[.,]\s?(com|net|org|cn|io)(/\S*)?\Z", re.IGNORECASE)
_NUMERIC = re.compile(
    r"\A(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost)(?::\d{1,5})?(?:[/?#]\S*)?\Z", re.IGNORECASE
)
_QUOTES = " \t\r\n\"'`<>“”‘’「」『』【】（）()《》"
_TRAILING = ".,;:!?…·~*"
# Endings of file names that look like domains.
_FILES = {
    "css", "csv", "doc", "docx", "gif", "htm", "html", "jpeg", "jpg", "js", "json", "md", "pdf", "php", "png", "py",
    "txt", "xls", "xlsx", "xml", "zip",
}  # fmt: skip


@dataclass(frozen=True)
class Pasted:
    """`text` is the whole text in one line, `url` the address in it or empty, `scheme` a scheme that is not http(s)."""

    text: str
    url: str = ""
    is_repaired: bool = False
    is_inside: bool = False
    scheme: str = ""

    @cached_property
    def host(self) -> str:
        """The host in lower case without port."""
        try:
            return (urlsplit(self.url).hostname or "").rstrip(".") if self.url else ""
        except ValueError:
            return ""

    @cached_property
    def path(self) -> str:
        try:
            return unquote(urlsplit(self.url).path) if self.url else ""
        except ValueError:
            return ""

    @cached_property
    def query(self) -> dict[str, str]:
        """The first value of each parameter, names in lower case."""
        if not self.url:
            return {}
        try:
            parts = urlsplit(self.url)
            given = parse_qs(parts.query, max_num_fields=100)
        except ValueError:
            return {}
        return {name.lower(): values[0].strip() for name, values in given.items()}

    def is_on(self, *domains: str) -> bool:
        """Return whether the host is one of these domains or below one of them."""
        return any(self.host == domain or self.host.endswith(f".{domain}") for domain in domains)


def read(text: str) -> Pasted:
    """Return what was pasted. Never raises: an unreadable address is refused later, with its reason."""
    line = " ".join(clean_text(text[:LONGEST]).replace("[.]", ".").split())
    whole = line.strip(_QUOTES)
    inside = _INSIDE.search(line)
    if inside:
        url = inside.group().rstrip(_TRAILING)[:LONGEST_URL]
        return Pasted(line, url, is_inside=url != whole.rstrip(_TRAILING))
    if broken := _BROKEN.match(whole):
        scheme = "https" if any(broken.groups()) else "http"
        rest = whole[broken.end() :].split(" ")[0].rstrip(_TRAILING)
        return Pasted(line, f"{scheme}://{rest}"[:LONGEST_URL], is_repaired=True)
    bare = whole.replace("。", ".").replace("．", ".").replace("：", ":").replace("／", "/").rstrip(_TRAILING)
    if bare.startswith("//"):
        bare = bare.lstrip("/")
    if comma := _COMMA.match(bare):
        bare = f"{comma[1].replace(',', '.')}.{comma[2]}{comma[3] or ''}"
    if is_address(bare):
        return Pasted(line, f"https://{bare}"[:LONGEST_URL], is_repaired=bare != whole)
    return Pasted(line, scheme=_other_scheme(whole))


def is_address(text: str) -> bool:
    """Return whether a text without a scheme is an address: a domain with a path, a number, localhost."""
    if _NUMERIC.match(text):
        return True
    if not _DOMAIN.match(text):
        return False
    host = re.split(r"[/?#:]", text, maxsplit=1)[0].rstrip(".")
    # notes.txt and report.pdf are files, not sites.
    return host.count(".") > 1 or host.rpartition(".")[2].lower() not in _FILES


def _other_scheme(text: str) -> str:
    found = _SCHEME.match(text)
    if found is None:
        return ""
    name = found[1].lower()
    return name if found[2] or name in _OTHER_SCHEMES else ""


# Kinds of change that a user can choose to be notified about.
NEW, CHANGED, REMOVED = "new", "changed", "removed"
NOTIFY = (NEW, CHANGED, REMOVED)
NOTIFY_DEFAULT = (NEW, CHANGED)
# How certain a recogniser is: its own address, any address, any text.
CERTAIN, LIKELY, POSSIBLE, FALLBACK = 90, 50, 20, 10
MINUTES_PER_DAY = 1440


@dataclass(frozen=True)
class Found:
    """What a text was recognised as. Nothing has been requested yet.

    `key` is the canonical value (an address, a number, a name); `kind` is one of the recogniser's own words.
    """

    kind: str
    key: str
    title: str
    icon: str
    address: str = ""
    hints: tuple[str, ...] = ()
    rank: int = CERTAIN
    system: str = ""


@dataclass(frozen=True)
class Refusal:
    """The text is understood and cannot be watched; the message says what can be done instead."""

    message: str
    code: str = "not_supported"
    rank: int = CERTAIN
    system: str = ""


@dataclass(frozen=True)
class Link:
    title: str
    url: str


@dataclass(frozen=True)
class Instead:
    """Another text that the user can check with one click."""

    title: str
    text: str


@dataclass(frozen=True)
class Pick:
    """One thing that can be ticked. `data` is JSON that `add` gets back; `requests` are those of one check."""

    value: str
    title: str
    detail: str = ""
    path: str = ""
    requests: int = 1
    is_ticked: bool = True
    exists: Link | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def per_day(self, minutes: int) -> int:
        """Return the requests per day at this frequency."""
        return round(self.requests * MINUTES_PER_DAY / minutes) if minutes else 0


@dataclass(frozen=True)
class Item:
    """One item of the preview, as it was read."""

    title: str
    detail: str = ""
    url: str = ""
    at: datetime | date | None = None


@dataclass(frozen=True)
class Offer:
    """What was found, and what the user can choose.

    `problem` says why the preview is missing or incomplete; `why_not` says why nothing can be added. `notify` lists
    the kinds of change that can be chosen; if it is empty, `notify_note` says where changes appear.
    """

    title: str
    facts: tuple[str, ...] = ()
    picks: tuple[Pick, ...] = ()
    items: tuple[Item, ...] = ()
    items_note: str = ""
    problem: str = ""
    why_not: str = ""
    code: str = ""
    exists: Link | None = None
    instead: tuple[Instead, ...] = ()
    frequencies: tuple[int, ...] = ()
    frequency: int = 0
    frequency_note: str = ""
    notify: tuple[str, ...] = ()
    notify_note: str = ""
    is_estimate: bool = False
    limit_per_day: int = 0
    limit_note: str = ""
    cost_note: str = ""
    first_note: str = ""
    requests_made: int = 0
    seconds: float = 0.0

    @property
    def can_add(self) -> bool:
        return not self.why_not and any(pick.exists is None for pick in self.picks)


@dataclass(frozen=True)
class Choice:
    """What the user chose. `picks` are values of Pick with their data."""

    picks: Mapping[str, Mapping[str, Any]]
    frequency: int = 0
    notify: tuple[str, ...] = ()
    channels: Sequence[NotificationChannel] = ()
    name: str = ""


@dataclass(frozen=True)
class Added:
    """A source that was added, and its page."""

    kind: str
    title: str
    url: str


class AddError(Exception):
    """Nothing was added. `code` is invalid, not_allowed, exists, not_found or too_many; `url` shows what exists."""

    def __init__(self, message: str, code: str = "invalid", *, url: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.url = url
