"""robots.txt files; `wanted.urls` are the sitemaps they name, in order and without repeats."""

from __future__ import annotations

from standins.sitemap_cases.case import Case, Wanted, case
from standins.sitemap_cases.files import plain

TWO = ("@HERE@/sitemap.xml", "https://e.com/Other.xml")
PLAIN = "User-agent: *\nDisallow: /private/\nSitemap: @HERE@/sitemap.xml\nSitemap: https://e.com/Other.xml\n"


def _robots(name: str, title: str, body: bytes | str, urls: tuple[str, ...] = TWO) -> Case:
    return case(name, title, Wanted(count=len(urls), urls=urls), plain(body, "robots.txt"))


ROBOTS: tuple[Case, ...] = (
    _robots("R-plain", "two sitemaps after a group", PLAIN),
    _robots("R-mark", "UTF-8 with byte order mark", b"\xef\xbb\xbf" + PLAIN.replace("User-agent: *\n", "").encode()),
    _robots("R-carriage-returns", "lines end with CR only", PLAIN.replace("\n", "\r")),
    _robots("R-case", "keys in any case, spaces around the colon", PLAIN.replace("Sitemap: ", "SITEMAP :  ", 1)),
    _robots("R-hyphen", "site-map as some write it", PLAIN.replace("Sitemap", "site-map")),
    _robots("R-relative", "relative addresses", PLAIN.replace("@HERE@/sitemap.xml", "sitemap.xml")),
    _robots("R-repeats", "the same line twice", PLAIN + "Sitemap: @HERE@/sitemap.xml\n"),
    _robots("R-comment", "a comment behind the address", PLAIN.replace("/sitemap.xml", "/sitemap.xml # main")),
    _robots("R-between-groups", "lines between groups", PLAIN + "\nUser-agent: other\nCrawl-delay: 7\n"),
    _robots("R-none", "no sitemap at all", "User-agent: *\nDisallow:\n", ()),
    _robots(
        "R-utf16",
        "UTF-16 with byte order mark",
        "User-agent: *\nSitemap: https://e.com/one.xml\n".encode("utf-16"),
        ("https://e.com/one.xml",),
    ),
)
