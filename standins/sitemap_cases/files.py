"""The bricks that the cases are built of."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping

from standins.sitemap_cases.case import Resource

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGES = "http://www.google.com/schemas/sitemap-image/1.1"
A, B, C = "https://e.com/a", "https://e.com/b", "https://e.com/c"
ABC = (A, B, C)
HTML = (
    "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Shop</title><link rel=stylesheet href=/a.css>"
    "</head><body><div id=app></div><p>Welcome<br>here<script>let a = 1 < 2 && 3 > 2</script></body></html>"
)
XHTML = (
    DECLARATION + '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Shop</title></head>'
    '<body><p><a href="https://e.com/a">A page</a></p></body></html>'
)


def url(loc: str, lastmod: str | None = None, more: str = "") -> str:
    stamp = "" if lastmod is None else f"<lastmod>{lastmod}</lastmod>"
    return f"<url><loc>{loc}</loc>{stamp}{more}</url>\n"


def urlset(*blocks: str, namespace: str | None = NAMESPACE, extra: str = "", declaration: str = DECLARATION) -> str:
    name = "" if namespace is None else f' xmlns="{namespace}"'
    return f"{declaration}<urlset{name}{extra}>\n{''.join(blocks)}</urlset>\n"


def three(first: str = A, more: str = "") -> tuple[str, str, str]:
    """The three pages of the plain case; the first may be spelled oddly."""
    return url(first, "2026-01-01", more), url(B, "2026-01-02", more), url(C, "2026-01-03", more)


BASE = urlset(*three())
LONG = urlset(*(url(f"https://e.com/page-{number}", "2026-01-01") for number in range(1, 1001)))
CUT = LONG.encode()[:30_000]


def index(*locs: str) -> str:
    entries = "".join(f"<sitemap><loc>{loc}</loc></sitemap>\n" for loc in locs)
    return f'{DECLARATION}<sitemapindex xmlns="{NAMESPACE}">\n{entries}</sitemapindex>\n'


def packed(body: str | bytes, layers: int = 1) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    for _ in range(layers):
        data = gzip.compress(data, mtime=0)
    return data


def xml(body: str | bytes, path: str = "sitemap.xml", **more: object) -> Resource:
    data = body.encode() if isinstance(body, str) else body
    return Resource(path=path, body=data, **more)  # type: ignore[arg-type]


def gz(body: bytes, path: str = "sitemap.xml.gz", headers: Mapping[str, str] | None = None) -> Resource:
    return Resource(path=path, body=body, content_type="application/gzip", headers=headers or {})


def page(body: str, path: str = "sitemap.xml", status: int = 200) -> Resource:
    return Resource(path=path, body=body.encode(), status=status, content_type="text/html; charset=utf-8")


def plain(body: str | bytes, path: str = "sitemap.txt") -> Resource:
    return xml(body, path, content_type="text/plain; charset=utf-8")


def redirect(to: str, path: str = "sitemap.xml", status: int = 301) -> Resource:
    return Resource(path=path, status=status, headers={"Location": to}, content_type=None)


def lines(urls: Iterable[str], end: str = "\n") -> str:
    return "".join(url + end for url in urls)
