"""Short ways to make lists for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from watchbook.systems.sitemaps.parse.lists import ListWriter, PartList, write_line


def part(pages: Mapping[str, str] | Iterable[tuple[str, ...]], *, name: str = "", news: bool = False) -> PartList:
    """A list of {path: lastmod}, or of rows with up to four fields, on one host."""
    rows = pages.items() if isinstance(pages, Mapping) else pages
    writer = ListWriter()
    writer.add([write_line(f"https://e.com/{path}", *more) for path, *more in rows])
    return writer.finish(name, news=news)


def shown(difference, kind):
    """[(path, old lastmod, new lastmod)] of one kind."""
    return [
        (
            change.url.removeprefix("https://e.com/"),
            change.old.lastmod if change.old else None,
            change.new.lastmod if change.new else None,
        )
        for change in difference.changes(kind)
    ]
