"""Broken in any way, a file is read, refused or called incomplete; it never crashes or hangs the reader."""

from __future__ import annotations

import gzip

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.systems.sitemaps.parse import read_robots
from watchbook.systems.sitemaps.parse.fast import Refused
from watchbook.systems.sitemaps.parse.lists import key_for
from watchbook.systems.sitemaps.parse.records import Unreadable
from watchbook.systems.sitemaps.parse.tests.files import (
    ADDRESS,
    BASE_BYTES,
    IMAGES,
    SPACE,
    entry,
    index,
    read,
    read_by_force,
    urlset,
)

ITEM = b"<item><link>https://e.com/a</link><pubDate>Mon, 06 May 2024 07:35:20 GMT</pubDate></item>"
RSS = b"<rss><channel>" + ITEM + b"</channel></rss>"
IMAGE = "<image:image><image:loc>https://e.com/i.png</image:loc></image:image>"
SEEDS = [
    BASE_BYTES,
    gzip.compress(BASE_BYTES),
    gzip.compress(gzip.compress(BASE_BYTES)),
    BASE_BYTES.decode().encode("utf-16"),
    index("https://e.com/1.xml", "https://e.com/2.xml"),
    RSS,
    b"https://e.com/a\r\nhttps://e.com/b\r\n",
    urlset(
        entry("https://e.com/a?x=1&amp;y=2", "2026-01-01T00:00:00+00:00", IMAGE),
        entry("<![CDATA[https://e.com/b]]>"),
        attributes=f'xmlns="{SPACE}" xmlns:image="{IMAGES}"',
    ).encode(),
]
PLAIN = urlset(
    *(entry(f"https://e.com/{n}?x=1&amp;y=2", "2026-01-01T00:00:00+00:00", IMAGE) for n in range(3)),
    attributes=f'xmlns="{SPACE}" xmlns:image="{IMAGES}"',
).encode()
SEEDS_OF_URLSETS = [BASE_BYTES, PLAIN]
PIECES = [
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<url>",
    b"</url>",
    b"</urlset>",
    b"&",
    b"&#0;",
    b"&#xD800;",
    b"&nbsp;",
]
PIECES += [
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"<loc>",
    b"<?",
    b"<!DOCTYPE x [",
    b"<!ENTITY x 'y'>",
    b"\x1f\x8b",
    b"\t",
    b"'",
]


@st.composite
def broken(draw, seeds=SEEDS):
    body = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(body)))
        kind = draw(st.sampled_from(["insert", "cut", "flip", "repeat", "end"]))
        if kind == "insert":
            body[at:at] = draw(st.sampled_from(PIECES) | st.binary(max_size=6))
        elif kind == "cut":
            del body[at : at + draw(st.integers(1, 30))]
        elif kind == "flip" and at < len(body):
            body[at] ^= draw(st.integers(1, 255))
        elif kind == "repeat":
            body[at:at] = body[at : at + 40] * draw(st.integers(1, 20))
        elif kind == "end":
            del body[at:]
    return bytes(body)


@settings(max_examples=examples(300), deadline=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(broken())
def test_broken_files_never_break_the_reader(body):
    try:
        part = read(body)
    except Unreadable:
        return
    records = list(part.pages.records())
    assert len(records) == part.count <= part.listed
    assert [r.url for r in records] == sorted({r.url for r in records}, key=key_for)
    for record in records:
        assert record.url.startswith(("http://", "https://"))
        assert len(record.url) <= 2048
        assert min(record.url) >= "\t"
    assert part.complete == (part.state == "ok")


@settings(max_examples=examples(300), deadline=20_000, suppress_health_check=[HealthCheck.too_slow])
@given(broken(SEEDS_OF_URLSETS))
def test_fast_and_tolerant_reader_agree_on_broken_files(body):
    try:
        fast = read_by_force(body, fast=True)
    except (Refused, Unreadable):
        return
    slow = read_by_force(body, fast=False)
    assert list(fast.pages.records()) == list(slow.pages.records())
    assert (fast.complete, fast.listed, fast.news) == (slow.complete, slow.listed, slow.news)


@settings(max_examples=examples(100), deadline=20_000)
@given(st.binary(max_size=300) | broken())
def test_broken_robots_files_never_break_the_reader(body):
    for url in read_robots(body, ADDRESS).sitemaps:
        assert url.startswith(("http://", "https://"))
