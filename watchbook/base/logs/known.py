"""The secrets this process holds in the clear, in the forms in which they may turn up in text."""

from __future__ import annotations

import contextlib
import html
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from watchbook.base import env
from watchbook.base.logs.names import hides

# Shorter ones would mask half of every line; nobody should have them.
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
    """New work begins in this thread: what the work before it remembered with `remember_here` is forgotten."""
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
    """A cookie line, a JSON document, an address: their telling parts leak on their own."""
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
