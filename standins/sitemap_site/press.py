"""The files of a site: made once, kept as bytes, made again only when something they hold has changed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from standins.sitemap_site import render
from standins.sitemap_site.layout import TOP, Layout
from standins.sitemap_site.ledger import Ledger
from standins.sitemap_site.pages import PageRecord

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, eq=False)
class File:
    body: bytes
    digest: str
    changed_at: datetime
    content_type: str
    encoding: str | None = None


@dataclass(frozen=True)
class Form:
    """How one path is made."""

    make: Callable[[], bytes]
    content_type: str = "application/xml"
    zipped: bool = False
    encoding: str | None = None
    is_kept: bool = True


class Press:
    """Not thread-safe alone: the site holds its ledger's lock around every call."""

    def __init__(self, ledger: Ledger, address: Callable[[str], str]) -> None:
        self.layout = Layout()
        self._ledger = ledger
        self._address = address
        self._files: dict[str, File] = {}
        self._fresh: set[str] = set()
        self._newest: dict[int, str | None] = {}
        self._touched_at = ledger.clock()
        self._forms: dict[str, Form] = {}
        self._forms_of: tuple[Layout, int] | None = None
        self._children: dict[str, int] = {}

    def arrange(self, layout: Layout) -> None:
        self.layout = layout
        self._touched_at = self._ledger.clock()
        self._fresh.clear()
        self._newest.clear()
        # Files that are no longer served are kept: one that returns with other content needs a later date.

    def touch(self, places: Iterable[int]) -> None:
        """These pages changed: their children and everything that lists all pages must be made again."""
        self._touched_at = self._ledger.clock()
        children = {self.layout.child_of(place) for place in places}
        for child in children:
            self._newest.pop(child, None)
        if self.layout.children is None:
            self._fresh.clear()
            return
        paths = {self.layout.child_path(child) for child in children}
        self._fresh &= self._children.keys() - paths

    def file(self, path: str) -> File | None:
        form = self.forms().get(path)
        if form is None:
            return None
        if path not in self._fresh:
            self._files[path] = self._make(form, self._files.get(path))
            if form.is_kept:
                self._fresh.add(path)
        return self._files[path]

    def forms(self) -> dict[str, Form]:
        """Every path that is served, and how."""
        now = (self.layout, self._child_count())
        if self._forms_of != now:
            self._children = {self.layout.child_path(child): child for child in range(now[1])}
            self._forms = self._whole_forms() | self._sitemap_forms()
            self._forms_of = now
        return self._forms

    def _whole_forms(self) -> dict[str, Form]:
        return {
            "/sitemap.txt": Form(lambda: render.text(self._all()), "text/plain; charset=utf-8"),
            "/sitemap.txt.gz": Form(lambda: render.text(self._all()), "application/gzip", zipped=True),
            "/rss.xml": Form(lambda: render.rss(self._all(), self._address("/")), "application/rss+xml"),
            "/atom.xml": Form(lambda: render.atom(self._all(), self._address("/")), "application/atom+xml"),
        }

    def _sitemap_forms(self) -> dict[str, Form]:
        if self.layout.children is None:
            single = self._packed(partial(self._child, 0))
            return {TOP: single, TOP + ".gz": single} if single.zipped else {TOP: single}
        children = {path: self._packed(partial(self._child, child)) for path, child in self._children.items()}
        tree = self.layout.index_tree(self._ledger.shelf.places)
        is_kept = self.layout.index_lastmod != "now"
        return children | {path: Form(partial(self._index, listed), is_kept=is_kept) for path, listed in tree.items()}

    def _packed(self, make: Callable[[], bytes]) -> Form:
        packing = self.layout.packing
        zipped = packing in {"file", "both"}
        encoding = "gzip" if packing in {"encoding", "both"} else None
        return Form(make, "application/gzip" if zipped else "application/xml", zipped, encoding)

    def _make(self, form: Form, old: File | None) -> File:
        body = form.make()
        for _ in range(form.zipped + (form.encoding is not None)):
            body = gzip.compress(body, 4, mtime=0)
        digest = hashlib.sha256(body).hexdigest()[:20]
        if old is not None and old.digest == digest:
            return old
        # Dates on the wire have whole seconds: two versions within one must still differ.
        changed_at = self._touched_at if old is None else max(self._touched_at, old.changed_at + SECOND)
        return File(body, digest, changed_at, form.content_type, form.encoding)

    def _child(self, child: int) -> bytes:
        places = self.layout.places_of(child, self._ledger.shelf.places)
        return render.urlset(self._noting_newest(child, places), self.layout.extensions)

    def _noting_newest(self, child: int, places: Iterable[int]) -> Iterator[PageRecord]:
        newest = ""
        for page in self._ledger.shelf.pages(places):
            if page.lastmod and page.lastmod > newest:
                newest = page.lastmod
            yield page
        self._newest[child] = newest or None

    def _index(self, listed: list[str]) -> bytes:
        return render.index((self._address(path), self._index_stamp(path)) for path in listed)

    def _index_stamp(self, path: str) -> str | None:
        style = self.layout.index_lastmod
        if style == "now":
            return self._ledger.clock().isoformat(timespec="seconds")
        return self._newest_in(self._children[path]) if style == "newest" and path in self._children else None

    def _newest_in(self, child: int) -> str | None:
        if child not in self._newest:
            self.file(self.layout.child_path(child))
        return self._newest[child]

    def _all(self) -> Iterable[PageRecord]:
        places = self.layout.places_of(0, self._ledger.shelf.places) if self.layout.children is None else None
        return self._ledger.shelf.pages(places or range(self._ledger.shelf.places))

    def _child_count(self) -> int:
        return self.layout.child_count(self._ledger.shelf.places)
