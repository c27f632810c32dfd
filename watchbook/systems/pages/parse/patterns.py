"""Patterns of addresses: a beginning, a whole path with * and ?, or a regular expression after `re:`.

    /products/                  addresses whose path begins so
    /products/*/offer           the whole path; * is any text, ? one character
    re:/products/\\d+$           found anywhere in path and query
    https://shop.example.com/   addresses that begin so

Regular expressions are read by RE2, which needs time in proportion to the address for every expression. Python's own
engine tries all ways to match, so that one expression could stop a worker for hours. RE2 has no look-around and no
back references; such expressions are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

LONGEST = 200
REGULAR = "re:"
MOST_MEMORY = 1 << 20


class InvalidPattern(ValueError):
    """The text is no pattern."""


def check_pattern(text: str) -> str:
    """Return the pattern without blanks around it, or raise InvalidPattern. Empty: every address."""
    given = text.strip()
    if given and (len(given) > LONGEST or not given.startswith(("/", REGULAR, "http://", "https://"))):
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
