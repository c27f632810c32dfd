"""The records that fetching hands out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from watchbook.base.web.charset import to_text

_MAX_VALIDATOR = 1000


class Validators(NamedTuple):
    """What the server gave us to ask "has it changed since?"."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


NO_VALIDATORS = Validators()


class Headers(Mapping[str, str]):
    """Header fields by name in any case; repeated ones are joined with commas, `all` gives each."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = tuple((name.lower(), value) for name, value in fields)

    def __getitem__(self, name: str) -> str:
        values = self.all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._fields))

    def __len__(self) -> int:
        return len(dict(self._fields))

    def all(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for field_name, value in self._fields if field_name == wanted]

    def __repr__(self) -> str:
        return f"<Headers: {', '.join(self)}>"  # values may be secret


@dataclass(frozen=True)
class Answer:
    """A complete answer. The body is in memory, or in `path` if a file was asked for."""

    url: str
    status: int
    headers: Headers
    body: bytes = field(default=b"", repr=False)
    path: Path | None = None
    size: int = 0
    elapsed_ms: int = 0
    request_count: int = 0
    redirects: tuple[str, ...] = ()
    # False if the server never said where the body ends: then a cut line cannot be told from the end.
    is_complete: bool = True
    file_sha256: str = field(default="", repr=False)

    @cached_property
    def sha256(self) -> str:
        return self.file_sha256 or hashlib.sha256(self.body).hexdigest()

    @property
    def is_not_modified(self) -> bool:
        return self.status == 304

    @property
    def content_type(self) -> str:
        """Media type alone, lower-case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def validators(self) -> Validators:
        etag, modified = self.headers.get("etag", ""), self.headers.get("last-modified", "")
        return Validators(*(value if 0 < len(value) <= _MAX_VALIDATOR else None for value in (etag, modified)))

    @property
    def text(self) -> str:
        return to_text(self.body, self.headers.get("content-type", ""))
