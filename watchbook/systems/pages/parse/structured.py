"""Price, currency, availability, dates and author from JSON-LD, read leniently: one block in six is broken."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Any

MOST_NODES = 5_000
MOST_BYTES = 500_000
_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->|<!\[CDATA\[|\]\]>|//\s*<!.*?$", re.DOTALL | re.MULTILINE)
_TRAILING = re.compile(r",\s*([}\]])")
# What a block that no parser reads says about these names.
_PAIRS = re.compile(
    r'"(price|priceCurrency|availability|datePublished|dateModified)"\s*:\s*(?:"([^"\\]{1,200})"|(-?\d+(?:\.\d+)?))'
)
PRICES = ("price", "lowPrice")
NAMES = {
    **dict.fromkeys(PRICES, "price"),
    "priceCurrency": "currency",
    "availability": "availability",
    "datePublished": "published",
    "dateModified": "modified",
    "author": "author",
}
# What stands below these names is about something else than the page: a review, a neighbour, an entry of a list.
OTHERS = frozenset({
    "review", "reviews", "comment", "hasPart", "isPartOf", "isRelatedTo", "isSimilarTo", "isAccessoryOrSparePartFor",
    "isConsumableFor", "itemListElement", "mentions", "relatedLink", "significantLink", "citation", "publisher",
    "interactionStatistic", "hasMerchantReturnPolicy", "shippingDetails",
})  # fmt: skip


def structured_fields(blocks: Iterable[str]) -> dict[str, str]:
    """Fields of all blocks; the first value of each wins. Price and currency are those of one offer."""
    found: dict[str, str] = {}
    for block in blocks:
        for node in _nodes(block[:MOST_BYTES]):
            _add(found, {name: text for name in NAMES if (text := _plain(node.get(name)))})
    if "availability" in found:
        found["availability"] = found["availability"].rsplit("/", 1)[-1]
    return found


def _add(found: dict[str, str], said: Mapping[str, str]) -> None:
    """Add what one node says. A price brings its own currency; a currency without a price waits for one."""
    price = next((said[name] for name in PRICES if name in said), "")
    if price and "price" not in found:
        found["price"] = price
        if "priceCurrency" in said:
            found["currency"] = said["priceCurrency"]
    for name, text in said.items():
        if name not in PRICES:
            found.setdefault(NAMES[name], text)


def _nodes(block: str) -> Iterator[Mapping[str, Any]]:
    """Objects of a block about the page itself, outer ones first; of a block that no parser reads, its pairs."""
    data = _lenient(block)
    if data is None:
        yield from ({name: text or digits} for name, text, digits in _PAIRS.findall(block))
        return
    waiting, seen = deque([data]), 0
    while waiting and seen < MOST_NODES:
        node = waiting.popleft()
        seen += 1
        if isinstance(node, list):
            waiting.extend(node[:500])
        elif isinstance(node, dict):
            yield node
            inner = (value for name, value in node.items() if name not in OTHERS)
            waiting.extend(value for value in inner if isinstance(value, (dict, list)))


def _lenient(block: str) -> Any:
    for text in (block, _TRAILING.sub(r"\1", _COMMENT.sub("", block)).strip().rstrip(";"), unescape(block)):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _plain(value: Any) -> str:
    """A value in one line: a name of a person, a number, a text."""
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else ""
        elif isinstance(value, dict):
            value = value.get("name") or value.get("@id") or value.get("value") or ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return " ".join(str(value).split())[:200]
