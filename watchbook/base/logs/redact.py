"""Takes secrets out of text: by the name that stands before them, and by their value.

`remember(secret)` is called by code that holds a secret in the clear; from then on that value, in the forms in which it
usually travels, is masked in everything this process logs. `text()` is for one string, `line()` for one log line,
`mapping()` for fields; a `Secret` does not show itself. Patterns are bounded on both sides, so that hostile text costs
linear time.
"""

from __future__ import annotations

import contextlib
import hmac
import html
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from watchbook.base import env

# Secret wherever they occur in a word; short ones must be the whole word or its last part ("keyword" is none).
_TELLING = r"token|secret|passw|passphrase|session|signature|credential|cookie|authorization|csrf|api_?key|apikey"
_SHORT = r"key|keys|sig|auth|pwd|pass|pw|sid|otp"
# Bounded on both sides, so that a run of 100,000 letters costs linear time.
NAME = rf"(?:[\w.-]{{0,40}}(?:{_TELLING})[\w.-]{{0,40}}|(?:[\w.-]{{0,40}}[_.-])?(?:{_SHORT}))"
QUERY_NAME = rf"(?:{NAME}|code)"
HEADER = (
    r"(?:proxy-)?authorization|set-cookie2?|cookie2?|x-api-key|x-auth-token|x-csrf-?token|www-authenticate"
    r"|webhook-signature"
)

_WHOLE = re.compile(rf"{QUERY_NAME}\Z", re.IGNORECASE)


def hides(name: object) -> bool:
    """Does a field of this name hold a secret?"""
    return _WHOLE.match(str(name)[-80:]) is not None


# Shorter ones would mask half of every line; no secret should be that short.
SHORTEST = 6
# Parts of a bigger secret (a cookie's values, a configuration's fields) must be long enough not to be everyday words.
SHORTEST_PART = 10
# The oldest go first. Each costs one search in every logged line.
MOST = 4_000
MOST_HERE = 100

_lock = threading.Lock()
_values: OrderedDict[str, None] = OrderedDict()
# Of the settings: few, and never pushed out by others.
_lasting: dict[str, None] = {}
# Of what this thread is just doing, such as the key in the address it was asked for.
_here: ContextVar[list[str] | None] = ContextVar("secrets_here", default=None)
_options_seen = 0


def remember(secret: str) -> str:
    """Mask this value from now on. Gives it back, so that a call can be wrapped around it."""
    with _lock:
        for value in _forms(secret):
            _values.pop(value, None)
            _values[value] = None
        while len(_values) > MOST:
            _values.popitem(last=False)
    return secret


def begin_here() -> None:
    """New work begins in this thread: what the work before it remembered with `remember_here` is dropped."""
    _here.set([])


def remember_here(secret: str) -> None:
    """Mask this value until new work begins. For what comes from outside: it must not push others out."""
    values = _here.get()
    if values is not None and len(values) < MOST_HERE:
        values.extend(_forms(secret))


def forget_all() -> None:
    """For tests."""
    global _options_seen
    with _lock:
        _values.clear()
        _lasting.clear()
        _options_seen = 0


def mask(text: str, with_what: str) -> str:
    _read_options()
    with _lock:
        found = [value for values in (_values, _lasting, _here.get() or ()) for value in values if value in text]
    for value in sorted(found, key=len, reverse=True):
        text = text.replace(value, with_what)
    return text


def _read_options() -> None:
    """Secrets from the environment. Options are declared as modules are imported, so look again when there are more."""
    global _options_seen
    options = env.declared()
    if len(options) == _options_seen:
        return
    _options_seen = len(options)
    for option in options.values():
        if option.secret and option.is_set:
            remember_setting(option.value)


def remember_setting(value: Any) -> None:
    """A setting that is secret. Of an address only the password is; host and database may be read."""
    for part in value if isinstance(value, tuple | list) else (value,):
        if not isinstance(part, str):
            continue
        secrets = _passwords(part) if "://" in part else (part, part.rpartition(":")[2])
        with _lock:
            _lasting.update(dict.fromkeys(form for secret in secrets for form in _forms(secret)))


def _passwords(address: str) -> Iterable[str]:
    """What is secret in the address of a service, also where it is written so that parsers stumble over it."""
    try:
        password = urlsplit(address).password or ""
    except ValueError:
        password = ""
    if not password:
        password = address.partition("://")[2].rpartition("@")[0].partition(":")[2]
    named = [value for name, value in parse_qsl(address.partition("?")[2]) if hides(name)]
    # A parser's complaint quotes the piece before the sign it does not like.
    pieces = [password, *re.split(r"[/?#@:\[\]]", password), *named]
    return [*pieces, *map(unquote, pieces)]


def _forms(secret: str) -> Iterator[str]:
    for part in (secret, *_parts(secret)):
        if len(part) < (SHORTEST if part is secret else SHORTEST_PART):
            continue
        yield part
        yield quote(part, safe="")
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield repr(part)[1:-1]
        yield html.escape(part)


def _parts(secret: str) -> Iterator[str]:
    """A cookie line, a JSON document, an address: their secret parts leak on their own."""
    text = secret.strip()
    if text[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            yield from _leaves(json.loads(text), "")
    elif "://" in text[:20]:
        yield from _address_parts(text)
    elif "=" in text:
        yield from (part.partition("=")[2].strip(' "') for part in text.split(";"))


def _leaves(node: Any, name: str) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, str(key))
    elif isinstance(node, list):
        for value in node:
            yield from _leaves(value, name)
    elif isinstance(node, str) and (hides(name) or _looks_random(node)):
        yield node
        if "://" in node[:20]:
            yield from _address_parts(node)


def _looks_random(value: str) -> bool:
    """An address, or letters mixed with digits: not a word like "immediate" that other lines use, too."""
    return "://" in value[:20] or (
        " " not in value and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    )


def _address_parts(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    if parts.password:
        yield parts.password
    if len(parts.path) > SHORTEST_PART:
        yield parts.path
        # Services such as chat webhooks put the secret into the last step of the path.
        yield parts.path.rstrip("/").rpartition("/")[2]
    yield parts.query


class Secret:
    """Holds a secret. Its text is ***; pickling and JSON refuse it; `reveal()` is where it leaves, and easy to find."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = remember(value)

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(("secret", self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("a secret is not written down")


MASK = "***"
LINE_LENGTH = 8_000
# The rest is not searched: a line is cut to LINE_LENGTH anyway.
LOOKED_AT = 64_000

_QUOTED = r"b?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_LISTED = r"[\[(][^\[\]()\n]{0,4000}[\])]"
_BARE = r"[^\s,;&\"'<>)\]}]+"
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        # scheme://user:password@host
        (r"(?<![\w+.-])([a-z][\w+.-]{1,20}://)[^\s/@\"'<>]{1,500}@", rf"\1{MASK}@"),
        # ?token=...&sig=... in anything that looks like an address
        (rf"([?&;#]{QUERY_NAME}=)[^&#\s\"'<>]+", rf"\1{MASK}"),
        # https://chat.example/api/webhooks/1/abc: the path is the secret
        (r"(https?://[^\s/\"']{1,255}/(?:[\w.-]{1,40}/){0,4}(?:web)?hooks?/)[^\s\"'<>]+", rf"\1{MASK}"),
        # 'Cookie': 'a=1'   (b'cookie', b'a=1')   Cookie: a=1; b=2
        (rf"(?<![\w-])({HEADER})([\"']?\s{{0,3}}[:=,]\s{{0,3}})({_QUOTED})", rf"\1\2{MASK}"),
        (rf"(?<![\w-])({HEADER})(\s{{0,3}}:\s{{0,3}})[^\n]+", rf"\1\2{MASK}"),
        (r"\b(bearer|basic|digest|negotiate)\s{1,3}[\w+/=.~-]{6,}", rf"\1 {MASK}"),
        # password=...   "token": "..."   'password': ['...']
        (rf"(?<![\w.-])({NAME})([\"']?\s{{0,3}}[:=]\s{{0,3}})({_QUOTED}|{_LISTED}|{_BARE})", rf"\1\2{MASK}"),
        # signing secrets, tokens with a prefix and web tokens are known by their shape
        (r"\bwhsec_[\w+/=-]{8,}", MASK),
        (r"\b([a-z]{2,8}_)(?=[\w-]{0,80}?\d)(?-i:(?=[\w-]{0,80}?[A-Z]))[\w-]{32,200}", rf"\1{MASK}"),
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}", MASK),
    )
)
# Controls, line and paragraph separators, direction marks that reorder what is read, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def text(value: str) -> str:
    """The text with secrets masked; nothing else is changed."""
    value = mask(value, MASK)
    for pattern, replacement in _PATTERNS:
        value = pattern.sub(replacement, value)
    return value


def line(value: str, *, length: int = LINE_LENGTH) -> str:
    """One line that is safe to write to a log: masked, on one line, without control characters, not endless."""
    shown = escape(text(_part_looked_at(value)))
    return shown if len(shown) <= length else f"{shown[:length]}… [{len(shown) - length} more characters]"


def block(value: str, *, length: int = 4 * LINE_LENGTH) -> str:
    """Several lines, as of a traceback: masked, each one escaped."""
    shown = "\n".join(escape(part) for part in text(_part_looked_at(value)).split("\n"))
    return shown if len(shown) <= length else f"{shown[:length]}… [{len(shown) - length} more characters]"


def mapping(fields: Mapping[str, Any], *, depth: int = 3) -> dict[str, Any]:
    """Fields by name and by value, nested ones too."""
    return {str(name): MASK if hides(name) else _value(value, depth) for name, value in fields.items()}


def _value(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth:
        return mapping(value, depth=depth - 1)
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_value(part, depth - 1) for part in list(value)[:100]]
    return line(value if isinstance(value, str) else repr(value))


def escape(value: str) -> str:
    return _UNPRINTABLE.sub(lambda found: _escaped(found.group()), value)


def _escaped(character: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or (
        f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    )


def _part_looked_at(value: str) -> str:
    if len(value) <= LOOKED_AT:
        return value
    # A secret cut in two would be recognised by neither its name nor its value, so cut between words.
    start = value[:LOOKED_AT]
    ends = max(start.rfind(" "), start.rfind("\n"))
    return f"{start[: max(ends, 0)]} … [{len(value) - max(ends, 0)} characters not shown]"
