"""The secrets this process holds in the clear, in the forms in which they may turn up in text."""

from __future__ import annotations

import contextlib
import html
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from watchbook.base import env
from watchbook.base.logs.names import hides

# Shorter ones would mask half of every line; nobody should have them.
SHORTEST = 6
# Parts of a bigger secret (a cookie's values, a configuration's fields) must be long enough not to be everyday words.
SHORTEST_PART = 10
# The oldest go first. Each costs one search in every logged line.
MOST = 4_000

_lock = threading.Lock()
_values: OrderedDict[str, None] = OrderedDict()
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


def forget_all() -> None:
    """For tests."""
    global _options_seen
    with _lock:
        _values.clear()
        _options_seen = 0


def mask(text: str, with_what: str) -> str:
    _read_options()
    with _lock:
        found = [value for value in _values if value in text]
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
        if "://" in part:
            remember(_password(part))
        else:
            remember(part)
            remember(part.rpartition(":")[2])


def _password(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""


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
