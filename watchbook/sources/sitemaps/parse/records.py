"""The records that reading a sitemap gives, and the limits it keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from watchbook.sources.sitemaps.parse.notes import OVER_LIMIT, Note

if TYPE_CHECKING:
    from watchbook.sources.sitemaps.parse.lists import PartList

URLSET, INDEX, TEXT, RSS, ATOM, RDF = "urlset", "index", "text", "rss", "atom", "rdf"


@dataclass(frozen=True, slots=True)
class Limits:
    """Where reading stops. Every limit that is hit makes the part incomplete, except `url_length`."""

    decoded_bytes: int = 200_000_000
    gzip_layers: int = 2
    head_bytes: int = 65_536
    entry_bytes: int = 16_000_000
    urls: int = 5_000_000
    children: int = 50_000
    url_length: int = 2048
    value_length: int = 100

    def as_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class UrlRecord:
    """One listed page. Empty text means that the file does not say it."""

    url: str
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""

    def as_json(self) -> dict[str, str | None]:
        return {
            "url": self.url,
            "lastmod": self.lastmod or None,
            "changefreq": self.changefreq or None,
            "priority": self.priority or None,
        }


@dataclass(frozen=True, slots=True)
class ChildRecord:
    """One sitemap that an index lists."""

    url: str
    lastmod: str = ""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One file as it was read: pages in `pages`, or sitemaps in `children` when it is an index."""

    kind: str
    complete: bool
    count: int
    """Different pages; 0 for an index."""
    listed: int
    """Entries as they stand in the file, repeated ones included."""
    notes: tuple[Note, ...]
    pages: PartList
    children: tuple[ChildRecord, ...] = ()
    news: bool = False
    """A news sitemap: pages leave it after two days by design."""
    decoded_bytes: int = 0

    @property
    def state(self) -> str:
        """ok | incomplete | over-limit"""
        if self.complete:
            return "ok"
        return "over-limit" if any(note.code in OVER_LIMIT for note in self.notes) else "incomplete"

    def summary(self) -> dict[str, Any]:
        """Everything but the pages, as JSON."""
        return {
            "kind": self.kind,
            "state": self.state,
            "complete": self.complete,
            "count": self.count,
            "listed": self.listed,
            "news": self.news,
            "decoded_bytes": self.decoded_bytes,
            "list_sha256": self.pages.sha256,
            "children": [[child.url, child.lastmod] for child in self.children],
            "notes": [{"code": note.code, "count": note.count, "message": note.message} for note in self.notes],
        }
