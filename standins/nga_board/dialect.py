"""The same data in the site's serialisers, with everything that makes its JSON none. Bytes out.

Marks of the private use area represent what no JSON writer prints: a raw TAB, a text printed as a bare number, and
keywords in another encoding than the rest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

TAB, BARE, KEYWORDS = "\ue000", "\ue001", "\ue002"
PREFIX = "window.script_muti_get_var_store="
TAIL = "/*error fill content */"
_NUMERIC = re.compile(r"[+-]?\d{1,15}(\.\d{1,9})?", re.ASCII)
_CANONICAL = re.compile(r"-?(0|[1-9]\d{0,14})", re.ASCII)
_KEYWORD_BYTES = "魔兽,副本,怀旧服".encode()


@dataclass(frozen=True)
class Dialect:
    """What is ugly today. Everything was seen on the real site; `Dialect.plain()` has none of it."""

    js_escapes: bool = True
    """`\\x5C` for a backslash."""
    bare_numbers: bool = True
    """Texts that look like numbers lose their quotes: +1, 007."""
    mixed_keywords: bool = True
    """UTF-8 inside of GBK, in the internal keywords of lists."""
    textual_parents: bool = False
    """`parent` of a row is JSON inside a text."""
    prefixed: bool = False
    commented: bool = False
    tail: bool = False

    @classmethod
    def plain(cls) -> Dialect:
        return cls(js_escapes=False, bare_numbers=False, mixed_keywords=False)

    def number_or_text(self, text: str) -> str:
        """A text the way PHP prints it in a map that mixes both."""
        return f"{BARE}{text}{BARE}" if self.bare_numbers and _NUMERIC.fullmatch(text) else text


def as_8(document: Any, dialect: Dialect, *, prefixed: bool = False) -> bytes:
    """`__output=8`, and with a prefix `lite=js`."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    if dialect.js_escapes:
        text = text.replace("\\\\", "\\x5C")
    text = text.replace(TAB, "\t").replace(f'"{BARE}', "").replace(f'{BARE}"', "")
    before = PREFIX if prefixed or dialect.prefixed else ""
    body = f"{'/*$js$*/' if dialect.commented else ''}{before}{text}{TAIL if dialect.tail else ''}"
    return _with_keywords(body, _KEYWORD_BYTES if dialect.mixed_keywords else b"")


def as_11(document: dict[str, Any]) -> bytes:
    """`__output=11`: numbered maps are lists, empty texts null, slashes escaped; clean where 8 is not."""
    text = json.dumps(_turned(document), ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
    return _with_keywords(text, "魔兽,副本,怀旧服".encode("gbk"))


def in_script(value: Any, dialect: Dialect) -> str:
    """A value as scripts of a page hold it, raw TABs and all."""
    return as_8(value, replace(dialect, mixed_keywords=False, prefixed=False, commented=False, tail=False)).decode(
        "gbk"
    )


def _with_keywords(text: str, keywords: bytes) -> bytes:
    first, *rest = text.split(KEYWORDS)
    return keywords.join([first.encode("gbk"), *(part.encode("gbk") for part in rest)])


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        if all(key == str(number) for number, key in enumerate(value)):
            return [_turned(item) for item in value.values()]
        return {key: _turned(item) for key, item in value.items()}
    if isinstance(value, str):
        return _text(value) if value else None
    return value


def _text(value: str) -> str | int:
    if value[0] == BARE:
        inner = value.strip(BARE)
        return int(inner) if _CANONICAL.fullmatch(inner) and inner != "-0" else inner
    return value.replace(TAB, "\t")
