"""One spelling per address."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.systems.sitemaps.parse.entries import NORMAL, normalise

BASE = "https://www.E.com/maps/sitemap.xml"


@pytest.mark.parametrize(
    ("raw", "url", "note"),
    [
        ("https://e.com/a", "https://e.com/a", None),
        ("HTTPS://E.Com/Path/?Q=A#F", "https://e.com/Path/?Q=A#F", None),
        ("https://e.com", "https://e.com", None),
        ("https://E.com?x=Y", "https://e.com?x=Y", None),
        ("https://User:Pass@E.com:8080/a", "https://User:Pass@e.com:8080/a", None),
        ("https://e.com/%7Ea/../b//c;x", "https://e.com/%7Ea/../b//c;x", None),
        ("\ufeff\u200b https://e.com/a \u00a0\n", "https://e.com/a", None),
        ("https://e.com/a b\tc", "https://e.com/a b\tc", None),
        ("https://BÜCHER.example/ÄÖ", "https://bücher.example/ÄÖ", None),
        ("http://[2001:DB8::1]:80/a", "http://[2001:db8::1]:80/a", None),
        ("/a", "https://www.e.com/a", "relative_urls"),
        ("a?b", "https://www.e.com/maps/a?b", "relative_urls"),
        ("//CDN.e.com/a", "https://cdn.e.com/a", "relative_urls"),
        ("", None, "empty_locs"),
        (" \u200b ", None, "empty_locs"),
        ("ftp://e.com/a", None, "not_http_urls"),
        ("javascript:alert(1)", None, "not_http_urls"),
        ("data:text/html,x", None, "not_http_urls"),
        ("mailto:a@e.com", None, "not_http_urls"),
        ("https:/e.com/a", None, "bad_urls"),
        ("https:e.com/a", None, "bad_urls"),
        ("https://", None, "bad_urls"),
        ("https:///a", None, "bad_urls"),
        ("https://exa mple.com/", None, "bad_urls"),
        ("https://[::1/a", None, "bad_urls"),
        ("http://]/", None, "bad_urls"),
        ("https://:80/", None, "bad_urls"),
        ("https://a@/x", None, "bad_urls"),
        ("//[::1", None, "bad_urls"),
        ("https://e.com/" + "x" * 2034, "https://e.com/" + "x" * 2034, None),
        ("https://e.com/" + "x" * 2035, None, "too_long_urls"),
    ],
)
def test_addresses_get_their_one_spelling(raw, url, note):
    assert normalise(raw, BASE) == (url, note)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_spelling_is_its_own_spelling(raw):
    url, _ = normalise(raw, BASE)
    if url is not None:
        assert normalise(url, BASE) == (url, None)


@settings(deadline=None)
@given(st.from_regex(NORMAL, fullmatch=True))
def test_addresses_that_need_no_work_are_left_as_they_are(raw):
    assert normalise(raw.decode(), BASE) == (raw.decode(), None)
