r"""Rules over pages: which addresses, and what must become true. Read from a text that people write.

    text contains half price        the main text has these words; `text lacks` the opposite
    title contains sale             the same for a field, such as description, h1, robots or author
    price < 50                      numbers: <, <=, >, >=, =, !=
    status != 200
    noindex                         robots says noindex
    changed                         anything differs
    title changed                   this field differs
    more than 50 new under /a/      pages in one day: new, changed, moved, gone or delisted

A rule speaks when its condition becomes true between two versions, so it notifies once for each crossing. One that
counts pages notifies once on each day on which the number is exceeded.

Patterns of addresses: a beginning, a whole path with * and ?, or a regular expression after `re:`.

    /products/                  addresses whose path begins so
    /products/*/offer           the whole path; * is any text, ? one character
    re:/products/\d+$           found anywhere in path and query
    https://shop.example.com/   addresses that begin so

Regular expressions are read by RE2, which needs time in proportion to the address for every expression. Python's own
engine tries all ways to match, so that one expression could stop a worker for hours. RE2 has no look-around and no
back references; such expressions are refused.
r"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from watchbook.systems.pages.parse.headers import is_noindex

LONGEST_PATTERN = 200
REGULAR = "re:"
MOST_MEMORY = 1 << 20


class InvalidPattern(ValueError):
    """The text is no pattern."""


def check_pattern(text: str) -> str:
    """Return the pattern without blanks around it, or raise InvalidPattern. Empty: every address."""
    given = text.strip()
    if given and (len(given) > LONGEST_PATTERN or not given.startswith(("/", REGULAR, "http://", "https://"))):
        raise InvalidPattern(given)
    _compiled(given)
    return given


def matches(pattern: str, url: str) -> bool:
    """Whether an address fits a pattern."""
    return _compiled(pattern)(url)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        return lambda url: True
    if pattern.startswith(REGULAR):
        return _regular(pattern.removeprefix(REGULAR))
    if not pattern.startswith("/"):
        return lambda url: url.startswith(pattern)
    if "*" not in pattern and "?" not in pattern:
        return lambda url: (urlsplit(url).path or "/").startswith(pattern)
    fits = glob(pattern, is_whole=True, single="?")
    return lambda url: fits.match(urlsplit(url).path or "/") is not None


def _regular(expression: str) -> Callable[[str], bool]:
    import re2  # only where a rule has an expression

    options = re2.Options()
    options.max_mem, options.log_errors = MOST_MEMORY, False
    try:
        found = re2.compile(expression, options)
    except re2.error as error:
        raise InvalidPattern(expression) from error
    return lambda url: found.search(_path_and_query(url)) is not None


def _path_and_query(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def glob(pattern: str, *, is_whole: bool, single: str = "") -> re.Pattern[str]:
    """A pattern in which * is any text. Each piece is matched once, at its first place, and never tried again."""
    # Several stars in a row mean one.
    first, *rest = [_escaped(piece, single) for piece in re.sub(r"\*+", "*", pattern).split("*")]
    if not rest:
        return re.compile(first + (r"\Z" if is_whole else ""), re.DOTALL)
    *middle, last = rest
    made = first + "".join(f"(?>.*?{piece})" for piece in middle)
    return re.compile(made + (rf".*{last}\Z" if is_whole else f"(?>.*?{last})"), re.DOTALL)


def _escaped(piece: str, single: str) -> str:
    return "".join("." if mark == single else re.escape(mark) for mark in piece)


LONGEST = 300
NUMBERS = {"price", "status"}
TEXTS = {"text", "title", "description", "h1", "canonical", "robots", "author", "availability", "language"}
COUNTED = ("new", "changed", "moved", "gone", "delisted")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
_NUMBER = re.compile(r"(price|status)\s*(<=|>=|!=|<|>|=)\s*(\d{1,9}(?:\.\d{1,4})?)")
_WORDS = re.compile(r"([a-z0-9]+)\s+(contains|lacks)\s+(\S.*)", re.DOTALL)
_CHANGED = re.compile(r"([a-z0-9]+) changed")
_MORE = re.compile(rf"more than (\d{{1,7}}) ({'|'.join(COUNTED)})(?: under (\S+))?")
_FIGURE = re.compile(r"\d[\d.,\s]*")


class InvalidRule(ValueError):
    """The text is no condition."""


@dataclass(frozen=True)
class Condition:
    """`word` is contains, lacks, changed, noindex, a sign of a comparison, or "more" for a number of pages in a day."""

    field: str
    word: str
    value: str = ""
    under: str = ""

    @property
    def is_count(self) -> bool:
        return self.word == "more"

    @property
    def is_event(self) -> bool:
        """Whether it is about a change, and so true of no single version."""
        return self.word in ("changed", "more")

    def holds(self, fields: Mapping[str, str], text: str) -> bool:
        """Whether it is true of one version."""
        if self.word == "noindex":
            return is_noindex(fields.get("robots", ""))
        if self.word in ("contains", "lacks"):
            return (self.value.casefold() in self._value(fields, text).casefold()) == (self.word == "contains")
        number = figure(fields.get(self.field, ""))
        return number is not None and SIGNS[self.word](number, float(self.value))

    def _value(self, fields: Mapping[str, str], text: str) -> str:
        return text if self.field == "text" else fields.get(self.field, "")

    def crosses(self, old: tuple[Mapping[str, str], str] | None, new: tuple[Mapping[str, str], str]) -> bool:
        """Whether it became true between two versions; of a first version, whether it is true."""
        if self.word == "changed":
            return old is not None and (not self.field or self._value(*old) != self._value(*new))
        if self.is_count:
            return False
        return self.holds(*new) and (old is None or not self.holds(*old))


def parse_condition(text: str) -> Condition:
    """Read a condition, or raise InvalidRule."""
    given = " ".join(text.split())[:LONGEST]
    if given.lower() in ("noindex", "noindex appeared"):
        return Condition("robots", "noindex")
    if given.lower() == "changed":
        return Condition("", "changed")
    if found := _NUMBER.fullmatch(given.lower()):
        return Condition(*found.groups())
    if (named := _CHANGED.fullmatch(given.lower())) and named.group(1) in TEXTS | NUMBERS:
        return Condition(named.group(1), "changed")
    if more := _MORE.fullmatch(given):
        return _count(*more.groups(default=""))
    words = _WORDS.fullmatch(given)
    if words and words.group(1) in TEXTS:
        return Condition(*words.groups())
    raise InvalidRule(given)


def _count(number: str, kind: str, under: str) -> Condition:
    try:
        return Condition(kind, "more", number, check_pattern(under))
    except InvalidPattern as error:
        raise InvalidRule(under) from error


def figure(text: str) -> float | None:
    """The number in a text such as "1.299,00 EUR" or "3.90"."""
    found = _FIGURE.search(text)
    if found is None:
        return None
    digits = re.sub(r"\s", "", found.group()).strip(".,")
    if "," in digits and "." in digits:
        decimal = max(digits.rfind(","), digits.rfind("."))
        digits = re.sub(r"[.,]", "", digits[:decimal]) + "." + digits[decimal + 1 :]
    elif digits.count(",") == 1 and len(digits) - digits.index(",") != 4:
        digits = digits.replace(",", ".")
    else:
        digits = digits.replace(",", "") if digits.count(".") <= 1 else digits.replace(".", "")
    return float(digits)
