"""The URLs of a change or a snapshot, searched and shown in bounded time and memory however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from watchbook.base.text import clean_text, fold
from watchbook.sources.sitemaps.models import ChangeRecord, SitemapSnapshot
from watchbook.sources.sitemaps.store.lists import change_entries, snapshot_urls

ADDED, REMOVED, MODIFIED, NOISE = "added", "removed", "modified", "noise"
KINDS = (ADDED, REMOVED, MODIFIED, NOISE)
SIGNS = {ADDED: "+", REMOVED: "−", MODIFIED: "~", NOISE: "~"}
SHOWN = 200
# Entries that one search looks at; a longer list is searched on from there, or in its download.
SCANNED = 200_000
QUERY_LENGTH, QUERY_WORDS = 200, 10
LONGEST_URL = 8192


@dataclass(frozen=True)
class Wanted:
    """What the reader asks for: a kind (empty: all but noise) and words that each URL contains."""

    kind: str = ""
    text: str = ""
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        kind = str(asked.get("kind", ""))
        text = clean_text(str(asked.get("q", "")))[:QUERY_LENGTH].strip()
        return cls(kind if kind in KINDS else "", text, tuple(fold(text).split()[:QUERY_WORDS]))

    def takes(self, kind: str) -> bool:
        return kind == self.kind if self.kind else kind != NOISE

    def matches(self, url: str) -> bool:
        """Words are found in the address as it is written and as people read it."""
        if not self.words:
            return True
        text = _folded(f"{url}\n{unquote(url)}" if "%" in url else url)
        return all(word in text for word in self.words)


def _folded(text: str) -> str:
    """Most addresses are ASCII, where folding is lower case and nothing else."""
    return text.lower() if text.isascii() else fold(text)


@dataclass(frozen=True)
class Item:
    """One changed URL with the dates that the site gave it."""

    kind: str
    url: str
    old_lastmod: str | None = None
    new_lastmod: str | None = None


@dataclass(frozen=True)
class Found:
    """`matched` counts all that match, or those in the first entries when `is_whole` is false."""

    items: list[Item]
    matched: int
    is_whole: bool = True

    @property
    def more(self) -> int:
        return self.matched - len(self.items)


def counts_of(record: ChangeRecord) -> dict[str, int]:
    """How many there are of each kind; the empty kind is all but noise."""
    told = record.modified_count - record.noisy_count
    return {
        "": record.added_count + record.removed_count + told,
        ADDED: record.added_count,
        REMOVED: record.removed_count,
        MODIFIED: told,
        NOISE: record.noisy_count,
    }


def counts_text(record: ChangeRecord) -> str:
    """+412 −9 ~38; empty when it is noise only."""
    counts = counts_of(record)
    return " ".join(f"{SIGNS[kind]}{counts[kind]:,}" for kind in (ADDED, REMOVED, MODIFIED) if counts[kind])


def find(record: ChangeRecord, wanted: Wanted, limit: int = SHOWN) -> Found:
    if not wanted.words:
        items = []
        for item in items_of(record, wanted.kind):
            if wanted.takes(item.kind):
                items.append(item)
                if len(items) == limit:
                    break
        return Found(items, max(counts_of(record)[wanted.kind], len(items)))
    return _search(record, wanted, limit)


def _search(record: ChangeRecord, wanted: Wanted, limit: int) -> Found:
    shown: list[Item] = []
    matched = 0
    noisy = frozenset(record.extras.get("noisy", ()))
    for number, (name, entry) in enumerate(change_entries(record, _stored_kind(wanted.kind))):
        if number == SCANNED:
            return Found(shown, matched, is_whole=False)
        if wanted.matches(entry["url"]) and wanted.takes((item := _item(name, entry, noisy)).kind):
            matched += 1
            if matched <= limit:
                shown.append(item)
    return Found(shown, matched)


def taste(record: ChangeRecord, limit: int) -> Found:
    """A few of every kind, for a page that shows more than this change."""
    total = counts_of(record)[""]
    if "manifest" in record.changes:
        return Found(find(record, Wanted(), limit).items, total)
    kinds = [[item for item in items_of(record, kind) if item.kind == kind] for kind in (ADDED, REMOVED, MODIFIED)]
    shares = [min(len(items), limit // 3) for items in kinds]
    for number, items in enumerate(kinds):
        shares[number] += min(len(items) - shares[number], limit - sum(shares))
    return Found([item for items, share in zip(kinds, shares, strict=True) for item in items[:share]], total)


def items_of(record: ChangeRecord, kind: str = "") -> Iterator[Item]:
    """Entries in one pass; only those of the kind are opened, and noise is told from what is modified."""
    noisy = frozenset(record.extras.get("noisy", ()))
    for name, entry in change_entries(record, _stored_kind(kind)):
        yield _item(name, entry, noisy)


def _stored_kind(kind: str) -> str:
    return MODIFIED if kind == NOISE else kind


def _item(name: str, entry: dict[str, Any], noisy: frozenset[str]) -> Item:
    url = str(entry["url"])
    if name == MODIFIED:
        return Item(NOISE if url in noisy else MODIFIED, url, entry.get("old_lastmod"), entry.get("new_lastmod"))
    return Item(name, url, None, entry.get("lastmod"))


@dataclass(frozen=True)
class UrlPage:
    """Rows of a snapshot in the order of their URLs; `after` is where the next page begins, empty at the end."""

    rows: list[dict[str, str | None]]
    after: str
    scanned: int


def find_urls(snapshot: SitemapSnapshot, wanted: Wanted, after: str, folder: Path) -> UrlPage:
    rows: list[dict[str, str | None]] = []
    last = after
    for scanned, row in enumerate(snapshot_urls(snapshot, folder, after)):
        if len(rows) == SHOWN or scanned == SCANNED:
            return UrlPage(rows, last, scanned)
        last = str(row["url"])
        if wanted.matches(last):
            rows.append(row)
    return UrlPage(rows, "", 0)
