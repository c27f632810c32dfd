"""How a site spreads its pages over files, packs them, and what it says about their freshness."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

TOP = "/sitemap.xml"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """`children` None is one plain urlset. In `blocks` neighbours stay together and a removal moves none;
    `dealt` like cards puts neighbours into different children. `depth` 2 is an index of indexes.

    Packing: `plain`, `file` (.xml.gz), `encoding` (Content-Encoding: gzip), `both` (two layers).
    """

    children: int | None = None
    per_child: int = 50_000
    spread: Literal["blocks", "dealt"] = "blocks"
    order_seed: int | None = None
    depth: int = 1
    packing: Literal["plain", "file", "encoding", "both"] = "plain"
    extensions: frozenset[Literal["news", "image"]] = frozenset()
    index_lastmod: Literal["newest", "now", "none"] = "newest"
    forgotten: frozenset[int] = frozenset()

    def child_count(self, places: int) -> int:
        if self.spread == "dealt":
            return self.children or 1
        return max(self.children or 1, -(-places // self.per_child))

    def child_of(self, place: int) -> int:
        return place % (self.children or 1) if self.spread == "dealt" else place // self.per_child

    def places_of(self, child: int, places: int) -> Sequence[int]:
        """The places listed in one child (counted from 0), in the order in which it lists them."""
        if self.children is None:
            chosen: Sequence[int] = range(places)
        elif self.spread == "dealt":
            chosen = range(child, places, self.children)
        else:
            chosen = range(child * self.per_child, min(places, (child + 1) * self.per_child))
        return chosen if self.order_seed is None else shuffled(chosen, self.order_seed)

    def child_path(self, child: int) -> str:
        suffix = ".gz" if self.packing in {"file", "both"} else ""
        return f"/sitemap-{child + 1}.xml{suffix}"

    def index_tree(self, places: int) -> dict[str, list[str]]:
        """Each index with what it lists; the top comes last."""
        listed = [number for number in range(self.child_count(places)) if number not in self.forgotten]
        if self.order_seed is not None:
            listed = shuffled(listed, self.order_seed)
        level = [self.child_path(child) for child in listed]
        fan = max(2, round(len(level) ** (1 / self.depth) + 0.499))
        tree: dict[str, list[str]] = {}
        for height in range(1, self.depth):
            groups = [level[start : start + fan] for start in range(0, len(level), fan)]
            tree |= {f"/sitemap-index-{height}-{number}.xml": group for number, group in enumerate(groups, 1)}
            level = [f"/sitemap-index-{height}-{number}.xml" for number in range(1, len(groups) + 1)]
        return tree | {TOP: level}


@dataclass(frozen=True, kw_only=True)
class Validators:
    """Freshness marks. Lies: `stale` says 304 to everybody who brings a mark, `rotating` has a new ETag each time,
    `ignored` gives marks and then answers 200 all the same."""

    etag: Literal["strong", "weak", "none"] = "strong"
    last_modified: bool = True
    lie: Literal["none", "stale", "rotating", "ignored"] = "none"


def shuffled(items: Sequence[int], seed: int) -> list[int]:
    return random.Random(seed).sample(items, len(items))
