"""Made-up sitemap files for tests, and short ways to read them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from watchbook.systems.sitemaps.parse import LIMITS, _read_slowly, _Work, read_part
from watchbook.systems.sitemaps.parse.fast import read_fast
from watchbook.systems.sitemaps.parse.records import PartRecord

ADDRESS = "https://e.com/sitemap.xml"
SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGES = "http://www.google.com/schemas/sitemap-image/1.1"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
PAGES = ["https://e.com/a", "https://e.com/b", "https://e.com/c"]


def entry(loc: str, lastmod: str = "", more: str = "") -> str:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return f"<url><loc>{loc}</loc>{dated}{more}</url>\n"


def urlset(*entries: str, attributes: str = f'xmlns="{SPACE}"', declaration: str = DECLARATION) -> str:
    return f"{declaration}<urlset {attributes}>\n{''.join(entries)}</urlset>"


def index(*children: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children)
    return f'{DECLARATION}<sitemapindex xmlns="{SPACE}">{listed}</sitemapindex>'.encode()


BASE = urlset(*(entry(page, f"2026-01-0{day}") for day, page in enumerate(PAGES, 1)))
BASE_BYTES = BASE.encode()


def read(body: bytes | str, **options: Any) -> PartRecord:
    data = body.encode() if isinstance(body, str) else body
    return read_part(BytesIO(data), **{"base_url": ADDRESS, **options})


def urls(part: PartRecord) -> list[str]:
    return [record.url for record in part.pages.records()]


def codes(part: PartRecord) -> set[str]:
    return {note.code for note in part.notes}


def said(part: PartRecord) -> set[str]:
    return {str(note) for note in part.notes}


def read_by_force(body: bytes, *, fast: bool) -> PartRecord:
    """With one of the two readers, whichever `read_part` would have taken. The fast one may raise Refused."""
    work = _Work(BytesIO(body), ADDRESS, LIMITS, True, None)
    encoding, root = work.detect(None)
    return work.read(encoding, root, read_fast if fast else _read_slowly)
