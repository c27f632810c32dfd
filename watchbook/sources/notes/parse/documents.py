"""JSON of the platform, and the state that its pages carry as a piece of JavaScript."""

from __future__ import annotations

import json
import re
from typing import Any

from watchbook.sources.notes.parse.signals import NOT_READABLE, PlatformRefusal

LARGEST = 8 * 1024 * 1024
_START = re.compile(r"window\.__INITIAL_STATE__\s{0,10}=\s{0,10}(?=\{)")
# String literals are passed over as they are; outside of them JavaScript's own values become null.
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w$])(?:undefined|NaN|-?Infinity)(?![\w$])", re.DOTALL)


def read_json(body: bytes) -> Any:
    if len(body) > LARGEST:
        raise PlatformRefusal(NOT_READABLE, "too long")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise PlatformRefusal(NOT_READABLE, "not JSON") from None


def read_initial_state(html: str) -> dict[str, Any]:
    """The document behind `window.__INITIAL_STATE__ =`, whatever follows it."""
    start = _START.search(html[:LARGEST])
    if start is None:
        raise PlatformRefusal(NOT_READABLE, "no state in the page")
    text = html[start.end() : LARGEST]
    end = text.find("</script")
    plain = _TOKEN.sub(_as_json, text if end < 0 else text[:end])
    try:
        state, _rest = json.JSONDecoder().raw_decode(plain)
    except (ValueError, RecursionError):
        raise PlatformRefusal(NOT_READABLE, "state is not JSON") from None
    if not isinstance(state, dict):
        raise PlatformRefusal(NOT_READABLE, "state is not an object")
    return state


def _as_json(found: re.Match[str]) -> str:
    token = found.group()
    return token if token.startswith('"') else "null"
