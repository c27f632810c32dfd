"""Walks from link to link, as far as links lead and not further than it is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

from tests.browser.driver import Visitor
from watchbook.base.testing.environment import NIGHTLY

# A link to the original leads away from Watchbook; a kept picture or video is a file, not a page.
# In a drawing, `href` of a link is an object.
LINKS = """() => [...document.querySelectorAll("a[href]:not([rel~=external])")].map((link) => {
  const address = new URL(link.getAttribute("href"), document.baseURI);
  return [address.href, link.hasAttribute("download") || address.pathname.startsWith("/media/")];
})"""
# Ids, archives, executions, notes; and the names of communities, people and posts, which stand after their kind.
_VARIABLE = re.compile(
    r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d+|[\w.-]+\.tar\S*|exec-[\w-]+|[0-9a-f]{24})(?=/|$)"
    r"|(?<=/reddit/r)/\w+|(?<=/reddit/posts)/\w+|(?<=/reddit/u)/[\w-]+"
)
# Pages of a kind (every night two of them), and one of each way to filter or page through it.
PER_SHAPE, PER_QUERY = 2 if NIGHTLY else 1, 1
# Filters that can be joined make more pages than anybody looks at.
QUERIES_PER_PAGE = 10 if NIGHTLY else 1


@dataclass(frozen=True)
class Link:
    path: str
    is_download: bool = False

    @property
    def shape(self) -> str:
        """Pages of one kind have one shape: a thousand monitors are not a thousand different pages."""
        parts = urlsplit(self.path)
        names = ",".join(sorted({name for name, _ in parse_qsl(parts.query)}))
        return _VARIABLE.sub("/*", parts.path) + (f"?{names}" if names else "")


def crawl(
    person: Visitor,
    *,
    look: Callable[[Link, int], None],
    most: int,
    starts: Sequence[str] = ("/",),
    queries_per_page: int = QUERIES_PER_PAGE,
) -> list[Link]:
    """Opens what can be reached and calls `look` with each and its status. Gives what was opened."""
    seen: set[str] = set()
    shapes: Counter[str] = Counter()
    queries: Counter[str] = Counter()
    queue = [Link(path) for path in starts]
    opened: list[Link] = []
    while queue and len(opened) < most:
        link = queue.pop(0)
        if link.path in seen or shapes[link.shape] >= (PER_QUERY if "?" in link.shape else PER_SHAPE):
            continue
        page, _, query = link.shape.partition("?")
        if query and queries[page] >= queries_per_page and link.path not in starts:
            continue
        queries[page] += bool(query)
        seen.add(link.path)
        shapes[link.shape] += 1
        opened.append(link)
        if link.is_download:
            look(link, person.context.request.get(person.url + link.path).status)
            continue
        look(link, person.go(link.path).status)
        queue += [found for found in _links(person) if found.path not in seen]
    return opened


def _links(person: Visitor) -> Iterator[Link]:
    here = person.page.url
    for address, is_download in person.page.evaluate(LINKS):
        whole, _ = urldefrag(urljoin(here, address))
        if whole.startswith(person.url + "/"):
            yield Link(whole.removeprefix(person.url), is_download)
