"""The fast reader and the forgiving one agree on everything that the fast one accepts."""

from __future__ import annotations

from xml.sax.saxutils import escape

from hypothesis import event, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.systems.sitemaps.parse.fast import Refused
from watchbook.systems.sitemaps.parse.tests.files import IMAGES, SPACE, read_by_force

letters = st.characters(codec="utf-8", min_codepoint=32, exclude_categories=["Cs", "Cn"])
paths = st.text(st.sampled_from("abcXYZ019/?=&%-_.~!'\"();,@:+#[] \\") | letters, max_size=12)
hosts = st.sampled_from(
    ["https://e.com/", "http://E.com:8080/", "HTTPS://www.e.com", "//e.com/", "/", "", "ftp://e.com/"]
)
space = st.sampled_from(["", "\n", "  ", "\r\n\t"])
lastmods = st.sampled_from(
    ["2026-01-01", "2026-01-01T10:00:00+08:00", "2026-01-01 10:00:00", "yesterday", " 2026 ", ""]
)
IMAGE = "<image:image>\n<image:loc>https://e.com/i.png?a&amp;b</image:loc></image:image>"
LINK = '<xhtml:link rel="alternate" hreflang="de" href="https://e.com/de"/>'
ROOT = f'<urlset xmlns="{SPACE}" xmlns:image="{IMAGES}" xmlns:xhtml="http://www.w3.org/1999/xhtml">'


def spelled(text: str, how: int) -> str:
    if how == 1:
        return "".join(f"&#{ord(letter)};" if letter in "&<>'é " else escape(letter) for letter in text)
    if how == 2:
        return "".join(f"&#x{ord(letter):X};" if letter in "&<>" else letter for letter in text)
    return escape(text, {"'": "&apos;", '"': "&quot;"} if how == 3 else {})


@st.composite
def documents(draw):
    between = draw(space)
    order = draw(st.permutations(["lastmod", "changefreq", "priority"]))
    blocks = []
    for _ in range(draw(st.integers(0, 6))):
        address = spelled(draw(hosts) + draw(paths), draw(st.integers(0, 3)))
        values = {"lastmod": draw(lastmods), "changefreq": "daily", "priority": draw(st.sampled_from(["0.5", "NaN"]))}
        fields = [f"<{name}>{values[name]}</{name}>" for name in order if draw(st.booleans())]
        extras = [draw(st.sampled_from(["", IMAGE, LINK, LINK * 2])), draw(st.sampled_from(["", "", IMAGE, LINK]))]
        inside = [f"<loc>{draw(space)}{address}{draw(space)}</loc>", extras[0], *fields, extras[1]]
        blocks.append(f"<url>{between}{between.join(filter(None, inside))}{between}</url>{between}")
    return f'<?xml version="1.0"?>{between}{ROOT}{between}{"".join(blocks)}</urlset>{between}'.encode()


@settings(max_examples=examples(250), deadline=None)
@given(documents())
def test_both_readers_give_the_same(body):
    slow = read_by_force(body, fast=False)
    assert slow.complete
    try:
        fast = read_by_force(body, fast=True)
    except Refused:
        event("refused")
        return
    event("accepted")
    assert fast == slow


def test_fast_reader_accepts_what_most_sites_write():
    body = f"{ROOT}\n" + "".join(
        f"  <url>\n    <loc>https://www.e.com/?page={n}&amp;x=1</loc>\n"
        f"    <lastmod>2026-01-01T00:00:0{n}+00:00</lastmod>\n    <changefreq>daily</changefreq>\n"
        f"    <priority>0.{n}</priority>\n    {LINK}\n    {IMAGE}\n  </url>\n"
        for n in range(10)
    )
    part = read_by_force(f"{body}</urlset>\n".encode(), fast=True)
    assert part.count == 10
    assert part == read_by_force(f"{body}</urlset>\n".encode(), fast=False)


def test_pages_that_cross_the_chunks_are_not_lost():
    pages = [f"https://e.com/{n}/{'x' * (n % 97)}" for n in range(40_000)]
    body = f"{ROOT}{''.join(f'<url><loc>{page}</loc></url>' for page in pages)}</urlset>".encode()
    fast, slow = read_by_force(body, fast=True), read_by_force(body, fast=False)
    assert fast == slow
    assert fast.count == 40_000
