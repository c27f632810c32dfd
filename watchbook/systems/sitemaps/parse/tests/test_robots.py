"""robots.txt as sites write it."""

from __future__ import annotations

import pytest

from watchbook.systems.sitemaps.parse import read_robots

ADDRESS = "https://e.com/robots.txt"
TEXT = """# hello
User-agent: *
Disallow: /private
Crawl-delay: 2.5
SITEMAP: https://E.com/Sitemap.xml # the main one
Sitemap:/relative.xml
site-map: https://e.com/other.xml
Sitemap: https://e.com/other.xml
Sitemap: ftp://e.com/no.xml
Sitemap:
"""


@pytest.mark.parametrize(
    "body",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace("\n", "\r\n").encode(),
    ],
    ids=["plain", "mark", "UTF-16", "CR", "CRLF"],
)
def test_sitemaps_and_delay_are_found(body):
    robots = read_robots(body, ADDRESS)
    assert robots.sitemaps == ("https://e.com/Sitemap.xml", "https://e.com/relative.xml", "https://e.com/other.xml")
    assert robots.crawl_delay_seconds == 2.5


def test_group_that_names_us_counts_before_the_group_for_all():
    body = b"User-agent: *\nCrawl-delay: 9\n\nUser-agent: other\nUser-agent: Watchbook\nCrawl-delay: 3\nDisallow: /x"
    assert read_robots(body, ADDRESS).crawl_delay_seconds == 3
    assert read_robots(body, ADDRESS, agent="somebody").crawl_delay_seconds == 9


@pytest.mark.parametrize(
    ("line", "delay"), [("1000000", 30.0), ("-1", None), ("soon", None), ("nan", None), ("1e9", None), ("0", 0.0)]
)
def test_delays_are_bounded(line, delay):
    assert read_robots(f"User-agent: *\nCrawl-delay: {line}".encode(), ADDRESS).crawl_delay_seconds == delay


@pytest.mark.parametrize("body", [b"", b"<!DOCTYPE html><p>Sitemap: https://e.com/x.xml", b"\x00\xff" * 500, b":::\n:"])
def test_what_is_no_robots_file_names_nothing(body):
    assert read_robots(body, ADDRESS).sitemaps == ()
