"""Parse responses: JSON, and the JavaScript state of note pages (`window.__INITIAL_STATE__`); name each refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit


class PlatformRefusal(Exception):
    """The platform refused the request."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} {detail}".strip())
        self.reason = reason
        self.detail = detail


LOGIN_DEAD = "login_dead"
ACCOUNT_RESTRICTED = "account_restricted"
CAPTCHA = "captcha"
IP_BLOCK = "ip_block"
SIGNATURE = "signature"
STALE_TOKEN = "stale_token"  # noqa: S105 - a word, not a token
NOTE_GONE = "note_gone"
WALLED = "walled"
BLOCKED = "blocked"
THROTTLED = "throttled"
EMPTY = "empty"
LOGIN_REQUIRED = "login_required"
NOT_READABLE = "not_readable"
OTHER = "other"

BY_CODE = {
    -100: LOGIN_DEAD,
    -101: LOGIN_DEAD,
    300011: ACCOUNT_RESTRICTED,
    300012: IP_BLOCK,
    300013: IP_BLOCK,
    300015: SIGNATURE,
    300017: STALE_TOKEN,
    300031: STALE_TOKEN,
    -510000: NOTE_GONE,
    -510001: NOTE_GONE,
    10013: WALLED,
    -510: WALLED,
}
# Search answers 0, recommendations 1000.
GOOD_CODES = {0, 1000}
BY_WORDS = (
    ("登录已过期", LOGIN_DEAD),
    ("账号异常", ACCOUNT_RESTRICTED),
    ("笔记不存在", NOTE_GONE),
    ("违规", NOTE_GONE),
    ("仅作者可见", NOTE_GONE),
)
CAPTCHA_STATUSES = {461, 471}


def check_status(status: int, headers: dict[str, str], location: str = "") -> None:
    """Raise PlatformRefusal if status, headers or redirect name a refusal."""
    if status in CAPTCHA_STATUSES or "verifytype" in headers or "verifyuuid" in headers:
        raise PlatformRefusal(CAPTCHA, f"status {status}")
    if location:
        raise PlatformRefusal(_reason_of_redirect(location), f"status {status}")
    if status == 406:
        raise PlatformRefusal(SIGNATURE, "status 406")
    if status in {401, 403}:
        raise PlatformRefusal(BLOCKED, f"status {status}")
    if status == 429:
        raise PlatformRefusal(THROTTLED, "status 429")


def _reason_of_redirect(location: str) -> str:
    parts = urlsplit(location[:2048])
    query = parse_qs(parts.query, max_num_fields=50)
    if "captcha" in parts.path or "verifyBiz" in query:
        return CAPTCHA
    code = query.get("error_code", query.get("errorCode", [""]))[0]
    if code.lstrip("-").isdigit():
        return BY_CODE.get(int(code), OTHER)
    if parts.path.startswith("/login") or "website-login" in parts.path:
        return LOGIN_DEAD
    return NOTE_GONE if parts.path.startswith("/404") else OTHER


def check_envelope(document: Any) -> dict[str, Any]:
    """Return `data` of a successful envelope, or raise PlatformRefusal."""
    if not isinstance(document, dict):
        raise PlatformRefusal(NOT_READABLE, "not an object")
    code, words = document.get("code"), str(document.get("msg") or "")[:200]
    if document.get("success") is True and (code in GOOD_CODES or code is None):
        data = document.get("data")
        if not isinstance(data, dict) or not data:
            raise PlatformRefusal(EMPTY)
        return data
    raise PlatformRefusal(reason_of(code, words), f"code {code if isinstance(code, int) else '?'}")


def reason_of(code: object, words: str = "") -> str:
    if isinstance(code, str) and code.lstrip("-").isdigit() and len(code) < 12:
        code = int(code)
    if isinstance(code, int) and code in BY_CODE:
        return BY_CODE[code]
    return next((reason for text, reason in BY_WORDS if text in words), OTHER)


LARGEST = 8 * 1024 * 1024
DEEPEST = 100
_START = re.compile(r"window\.__INITIAL_STATE__\s{0,10}=\s{0,10}(?=\{)")
_TOKEN = re.compile(
    r"\s+"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<sign>=>|.)",
    re.DOTALL,
)
# A fast first pass for pages without constructors: values that JSON does not know become null.
_NOT_JSON = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w$])(?:undefined|NaN|-?Infinity)(?![\w$])", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None, "Infinity": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class PageState:
    """The state of a page. `unknown` counts values that this parser does not know; they are null in `document`."""

    document: dict[str, Any]
    unknown: int = 0


def read_json(body: bytes) -> Any:
    if len(body) > LARGEST:
        raise PlatformRefusal(NOT_READABLE, "too long")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise PlatformRefusal(NOT_READABLE, "not JSON") from None


def read_initial_state(html: str) -> PageState:
    """Return the object assigned to `window.__INITIAL_STATE__`, or raise PlatformRefusal."""
    start = _START.search(html[:LARGEST])
    if start is None:
        raise PlatformRefusal(NOT_READABLE, "no state in the page")
    text = html[start.end() : LARGEST]
    end = text.find("</script")
    text = text if end < 0 else text[:end]
    try:
        found, _rest = json.JSONDecoder().raw_decode(_NOT_JSON.sub(_as_json, text))
        unknown = 0
    except (ValueError, RecursionError):
        reader = _Reader(text)
        found, unknown = reader.value(), reader.unknown
    if not isinstance(found, dict):
        raise PlatformRefusal(NOT_READABLE, "state is not an object")
    return PageState(found, unknown)


def _as_json(found: re.Match[str]) -> str:
    token = found.group()
    return token if token.startswith('"') else "null"


class _Reader:
    """Reads one JavaScript literal: objects, lists, strings, numbers, `new Map`, `new Set`, `new Date`, `new URL`.

    Everything else (other constructors, functions, calls, names) becomes null and is counted in `unknown`.
    """

    def __init__(self, text: str) -> None:
        self._tokens = self._scan(text)
        self._kind, self._text = "", ""
        self.unknown = 0
        self._depth = 0
        self._next()

    def _scan(self, text: str) -> Iterator[tuple[str, str]]:
        for found in _TOKEN.finditer(text):
            if found.lastgroup is not None:
                yield found.lastgroup, found.group()
        yield "end", ""

    def _next(self) -> str:
        before = self._text
        self._kind, self._text = next(self._tokens, ("end", ""))
        return before

    def _accept(self, sign: str) -> bool:
        if self._kind == "sign" and self._text == sign:
            self._next()
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._accept(sign):
            raise PlatformRefusal(NOT_READABLE, f"expected {sign} in the state")

    def value(self) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise PlatformRefusal(NOT_READABLE, "state is nested too deeply")
        try:
            return self._value()
        finally:
            self._depth -= 1

    def _value(self) -> Any:
        if self._kind == "text":
            return _unquoted(self._next())
        if self._kind == "number":
            token = self._next()
            return float(token) if any(c in token for c in ".eE") else int(token[:40])
        if self._kind == "word":
            return self._word()
        if self._accept("{"):
            return self._object()
        if self._accept("["):
            return self._list("]")
        if self._accept("-"):
            number = self.value()
            return -number if isinstance(number, int | float) else None
        if self._accept("!"):
            return not self.value()
        return self._unknown()

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._accept("}"):
            if self._kind not in {"text", "word", "number"}:
                raise PlatformRefusal(NOT_READABLE, "expected a key in the state")
            is_text = self._kind == "text"
            key = self._next()
            if self._accept(":"):
                found[_unquoted(key) if is_text else key] = self.value()
            elif self._text == "(":  # a method
                self._skip_balanced()
                self._skip_balanced()
                self.unknown += 1
            if not self._accept(","):
                self._need("}")
                break
        return found

    def _list(self, end: str) -> list[Any]:
        found: list[Any] = []
        while not self._accept(end):
            if self._accept(","):
                found.append(None)
                continue
            found.append(self.value())
            if not self._accept(","):
                self._need(end)
                break
        return found

    def _word(self) -> Any:
        if self._text == "new":
            self._next()
            return self._constructed()
        if self._text == "void":
            self._next()
            self.value()
            return None
        if self._text in _WORDS:
            return _WORDS[self._next()]
        return self._unknown()

    def _constructed(self) -> Any:
        name = self._next()
        while self._accept("."):
            name = self._next()
        given = self._list(")") if self._accept("(") else []
        first = given[0] if given else None
        if name == "Map":
            pairs = first if isinstance(first, list) else []
            return {str(pair[0]): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}
        if name == "Set":
            return first if isinstance(first, list) else []
        if name in {"Date", "URL", "String", "Number", "Boolean"}:
            return first
        self.unknown += 1
        return None

    def _unknown(self) -> None:
        """Skip one expression that is no literal: up to the next comma or closing bracket of this level."""
        self.unknown += 1
        while self._kind != "end" and not (self._kind == "sign" and self._text in ",)]}"):
            if self._kind == "sign" and self._text in _CLOSING:
                self._skip_balanced()
            else:
                self._next()
        if self._kind == "end":
            raise PlatformRefusal(NOT_READABLE, "the state ends early")

    def _skip_balanced(self) -> None:
        depth = 0
        while self._kind != "end":
            if self._kind == "sign" and self._text in "([{":
                depth += 1
            elif self._kind == "sign" and self._text in ")]}":
                depth -= 1
            self._next()
            if depth <= 0:
                return


def _unquoted(token: str) -> str:
    if token.startswith('"'):
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            pass
    return _ESCAPE.sub(_escaped, token[1:-1])


def _escaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(found[3], found[3])
