"""What a page says: bytes in, a frozen record out. Hostile bytes are read in a child with limits (`task`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

FIELD_LENGTH = 2_000
# Fields that make a version when they differ, in the order in which pages show them.
FIELDS = (
    "status", "final_url", "refresh", "title", "description", "h1", "canonical", "robots", "language", "hreflang",
    "price", "currency", "availability", "published", "modified", "author", "type", "digest",
)  # fmt: skip


@dataclass(frozen=True)
class Selectors:
    """CSS selectors: the parts of a page whose text is compared, and those that are not."""

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names the selectors in few characters; empty without any."""
        said = "\n".join([*self.only, "\t", *self.ignore])
        return sha256(said.encode()).hexdigest()[:16] if self.only or self.ignore else ""


@dataclass(frozen=True)
class Article:
    """A page for the library: its main text with simple markup, and the pictures in it by address."""

    url: str
    title: str
    html: str
    text: str
    pictures: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names what the page says in few characters, the same for every reader."""
        return sha256(f"{self.title}\n{self.text}".encode()).hexdigest()[:12]

    @classmethod
    def of(cls, url: str, found: dict[str, Any]) -> Article:
        """The article that the child returned."""
        return cls(url, found["title"], found["html"], found["text"], tuple(found["pictures"]))


@dataclass(frozen=True)
class PageRecord:
    """A page as it was read. `fields` has those of FIELDS that the page states; `text` is its main text."""

    fields: dict[str, str] = field(default_factory=dict)
    text: str = ""
    size: int = 0
    # Signs that the page is not what was asked for: "soft_404", "wall", "unselected", "unreadable"
    signs: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text and not any(self.fields.get(name) for name in ("title", "h1", "refresh"))

    @classmethod
    def of(cls, told: dict[str, Any]) -> PageRecord:
        """The record that the child returned."""
        return cls(dict(told["fields"]), told["text"], told["size"], tuple(told["signs"]))
