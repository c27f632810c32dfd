"""Requests and responses as plain records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

Pairs = Iterable[tuple[str, str]]


class Headers:
    """Header lines in their order; names are compared without case and may repeat."""

    def __init__(self, pairs: Pairs = ()) -> None:
        self.pairs = tuple(pairs)

    def get(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.pairs if key.lower() == name.lower()), default)

    def get_all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key.lower() == name.lower()]

    def __contains__(self, name: str) -> bool:
        return bool(self.get_all(name))

    def as_dict(self) -> dict[str, str]:
        """Lower-case names; of a repeated one the last."""
        return {key.lower(): value for key, value in self.pairs}


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """One request as it arrived."""

    number: int
    connection: int
    remote_port: int
    monotonic: float
    received_at: datetime
    method: str
    target: str
    version: str
    headers: Headers
    body: bytes
    is_encrypted: bool = False

    @cached_property
    def path(self) -> str:
        """As sent, not decoded."""
        bare = self.target.partition("#")[0].partition("?")[0]
        return bare if bare.startswith("/") else urlsplit(self.target).path or "/"

    @cached_property
    def query(self) -> str:
        return self.target.partition("#")[0].partition("?")[2]

    @cached_property
    def params(self) -> dict[str, str]:
        """The query, last value of each name; for another charset read `query` yourself."""
        return _flat(parse_qs(self.query, keep_blank_values=True, errors="replace"))

    @cached_property
    def host(self) -> str:
        return self.headers.get("Host").lower()

    @cached_property
    def cookies(self) -> dict[str, str]:
        pieces = "; ".join(self.headers.get_all("Cookie")).split(";")
        return {name.strip(): value.strip() for name, _, value in (piece.partition("=") for piece in pieces) if name}

    def form(self, encoding: str = "utf-8") -> dict[str, str]:
        return _flat(parse_qs(self.body.decode("latin-1"), True, encoding=encoding, errors="replace"))

    def json(self) -> Any:
        return json.loads(self.body)

    def as_json(self, status: int | None = None) -> dict[str, object]:
        return {
            "number": self.number,
            "connection": self.connection,
            "remote_port": self.remote_port,
            "monotonic": self.monotonic,
            "received_at": self.received_at.isoformat(),
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": [list(pair) for pair in self.headers.pairs],
            "body": self.body.decode("utf-8", "replace"),
            "status": status,
        }


@dataclass(frozen=True)
class Answer:
    """A body of bytes goes out with its length; an iterable of bytes goes out in chunks."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    headers: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    content_type: str | None = field(default=None, kw_only=True)

    @classmethod
    def text(cls, text: str, status: int = 200, content_type: str = "text/plain; charset=utf-8") -> Answer:
        return cls(status, text.encode(), content_type=content_type)

    @classmethod
    def html(cls, text: str, status: int = 200) -> Answer:
        return cls.text(text, status, "text/html; charset=utf-8")

    @classmethod
    def json(cls, value: object, status: int = 200) -> Answer:
        return cls.text(json.dumps(value, ensure_ascii=False), status, "application/json")

    @classmethod
    def redirect(cls, to: str, status: int = 302) -> Answer:
        return cls(status, headers=(("Location", to),))

    def with_headers(self, pairs: Pairs | Mapping[str, str]) -> Answer:
        """These lines in place of those of the same names."""
        new = tuple(pairs.items() if isinstance(pairs, Mapping) else pairs)
        names = {name.lower() for name, _ in new}
        kept = tuple(pair for pair in self.headers if pair[0].lower() not in names)
        content_type = None if "content-type" in names else self.content_type
        return replace(self, headers=kept + new, content_type=content_type)

    def whole_body(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else b"".join(self.body)


def _flat(values: dict[str, list[str]]) -> dict[str, str]:
    return {name: many[-1] for name, many in values.items()}
