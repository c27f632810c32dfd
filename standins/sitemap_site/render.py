"""Pages as bytes: urlset, index, text list, RSS, Atom, robots.txt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from email.utils import format_datetime
from xml.sax.saxutils import escape

from standins.sitemap_site.moments import read
from standins.sitemap_site.pages import PageRecord

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
NAMESPACES = {
    "image": ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"',
    "news": ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"',
}


def urlset(pages: Iterable[PageRecord], extensions: Collection[str] = ()) -> bytes:
    extra = "".join(NAMESPACES[name] for name in sorted(extensions))
    lines = [f'{DECLARATION}<urlset xmlns="{SITEMAP}"{extra}>']
    for page in pages:
        more = "".join(_extension(name, page) for name in sorted(extensions))
        lines.append(f"<url>{_fields(page)}{more}</url>")
    lines.append("</urlset>\n")
    return "\n".join(lines).encode()


def index(children: Iterable[tuple[str, str | None]]) -> bytes:
    lines = [f'{DECLARATION}<sitemapindex xmlns="{SITEMAP}">']
    lines += [f"<sitemap>{_fields(PageRecord(url, lastmod))}</sitemap>" for url, lastmod in children]
    lines.append("</sitemapindex>\n")
    return "\n".join(lines).encode()


def text(pages: Iterable[PageRecord]) -> bytes:
    return "".join(f"{page.url}\n" for page in pages).encode()


def rss(pages: Iterable[PageRecord], home: str) -> bytes:
    items = [
        f"<item><title>{escape(page.url)}</title><link>{escape(page.url)}</link>"
        f'<guid isPermaLink="false">{escape(page.url)}#it</guid>{_tag("pubDate", _rfc_date(page.lastmod))}</item>'
        for page in pages
    ]
    head = f'{DECLARATION}<rss version="2.0"><channel><title>News</title><link>{home}</link><description/>'
    return "\n".join([head, *items, "</channel></rss>\n"]).encode()


def atom(pages: Iterable[PageRecord], home: str) -> bytes:
    entries = [
        f"<entry><id>{escape(page.url)}</id><title>{escape(page.url)}</title>"
        f'<link rel="alternate" href="{escape(page.url, {chr(34): "&quot;"})}"/>{_tag("updated", page.lastmod)}</entry>'
        for page in pages
    ]
    head = (
        f'{DECLARATION}<feed xmlns="http://www.w3.org/2005/Atom"><id>{home}</id><title>News</title>'
        f'<link rel="self" href="{home}atom.xml"/><link href="{home}"/>'
    )
    return "\n".join([head, *entries, "</feed>\n"]).encode()


def robots(sitemaps: Iterable[str], crawl_delay: float | None = None) -> bytes:
    lines = ["User-agent: *", "Disallow: /private/"]
    if crawl_delay is not None:
        lines.append(f"Crawl-delay: {crawl_delay:g}")
    lines += ["", *(f"Sitemap: {address}" for address in sitemaps)]
    return "\n".join([*lines, ""]).encode()


def _fields(page: PageRecord) -> str:
    return _tag("loc", page[0]) + _tag("lastmod", page[1]) + _tag("changefreq", page[2]) + _tag("priority", page[3])


def _tag(name: str, value: str | None) -> str:
    if value is None:
        return ""
    # Looking first is three times as fast as escape(), which counts when a million pages are written.
    if "&" in value or "<" in value or ">" in value:
        value = escape(value)
    return f"<{name}>{value}</{name}>"


def _extension(name: str, page: PageRecord) -> str:
    url = escape(page.url)
    if name == "image":
        return f"<image:image><image:loc>{url}/picture.jpg</image:loc></image:image>"
    return (
        "<news:news><news:publication><news:name>Daily</news:name><news:language>en</news:language></news:publication>"
        f"<news:publication_date>{escape(page.lastmod or '2026-01-01')}</news:publication_date>"
        f"<news:title>{url}</news:title></news:news>"
    )


def _rfc_date(lastmod: str | None) -> str | None:
    reading = read(lastmod) if lastmod else None
    return lastmod if reading is None else format_datetime(reading.moment)
