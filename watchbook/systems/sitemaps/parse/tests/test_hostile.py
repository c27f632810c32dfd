"""Files that are built to hurt a reader: they fail softly, ask nobody for anything, and stay small."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from io import BytesIO

import pytest

from watchbook.systems.sitemaps.parse.records import Dangerous, Limits, NotASitemap, Unreadable
from watchbook.systems.sitemaps.parse.tests.files import (
    ADDRESS,
    BASE,
    DECLARATION,
    SPACE,
    codes,
    entry,
    index,
    read,
    said,
    urls,
    urlset,
)

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
PAGE = "<urlset><url><loc>https://e.com/&x;</loc></url></urlset>"


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE lolz [<!ENTITY l0 "lol">{LAUGHS}]>',
        f'<!DOCTYPE x [<!ENTITY x "{"a" * 50_000}">]>',
        '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]>',
        '<!doctype x [<!entity x "y">]>',
        '<!DOCTYPE x [<!ATTLIST x y CDATA "]"> <!ENTITY x "y">]>',
        '<?xml version="1.0"?>\n<!-- a --><!DOCTYPE x\n[\n<!ENTITY x "y">\n]\n>',
    ],
    ids=[
        "C1 billion laughs",
        "C2 quadratic",
        "C3 file",
        "C4 parameter entity",
        "small letters",
        "behind a bracket",
        "lines",
    ],
)
def test_declared_entities_are_refused(doctype):
    with pytest.raises(Dangerous) as caught:
        read(doctype + PAGE)
    assert caught.value.code == "entity_declarations"


def test_entities_after_the_root_has_begun_mean_nothing():
    part = read(f'<urlset><!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/hostname">]>{PAGE[8:]}')
    assert all("&x;" in url or url == "https://e.com/" for url in urls(part))


def test_c5_xinclude_is_not_followed(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("https://e.com/secret")
    include = f'<xi:include href="{secret}" parse="text"/>'
    body = urlset(
        entry(include),
        entry("https://e.com/a"),
        attributes=f'xmlns="{SPACE}" xmlns:xi="http://www.w3.org/2001/XInclude"',
    )
    part = read(body)
    assert urls(part) == ["https://e.com/a"]
    assert said(part) == {"empty_locs:1"}


def test_c6_a_stylesheet_is_not_fetched():
    body = BASE.replace("<urlset", '<?xml-stylesheet type="text/xsl" href="http://127.0.0.1:9/x.xsl"?><urlset')
    assert read(body).count == 3


@pytest.mark.parametrize("depth", [255, 1_000, 100_000])
def test_c7_deep_nesting_is_survived_and_nothing_is_lost_silently(depth):
    body = urlset(entry("https://e.com/a"), "<x>" * depth + "</x>" * depth, entry("https://e.com/b"))
    part = read(body)
    assert part.count == 2 or not part.complete


def test_c8_an_index_with_too_many_children_is_cut():
    part = read(index(*(f"https://e.com/{n}.xml" for n in range(10_000))), limits=Limits(children=1_000))
    assert len(part.children) == 1_000
    assert (part.complete, said(part)) == (False, {"too_many_children:1000"})


def test_c9_odd_addresses_are_taken_or_counted():
    part = read(
        urlset(
            entry(""),
            entry("/relative"),
            entry("https://e.com/" + "x" * 5_000),
            entry("https://e.com/with space"),
            entry("https://e.com/?a=1&amp;b=2"),
            entry("https://other.example/"),
            entry("https://other.example/"),
            entry("ftp://e.com/f"),
            entry("javascript:alert(1)"),
            entry("https://[::1"),
        )
    )
    assert urls(part) == [
        "https://e.com/?a=1&b=2",
        "https://e.com/relative",
        "https://e.com/with space",
        "https://other.example/",
    ]
    assert said(part) == {
        "bad_urls:1",
        "duplicate_urls:1",
        "empty_locs:1",
        "not_http_urls:2",
        "relative_urls:1",
        "too_long_urls:1",
    }
    assert part.complete


@pytest.mark.parametrize(
    "lastmod",
    [
        "0000-00-00",
        "9999-12-31",
        "2024-01-01T00:00:00+14:60",
        "yesterday",
        "2024-01-01T24:00:00Z",
        "2024-12-31T23:59:60Z",
        "1714980000000",
    ],
)
def test_c10_dates_that_mean_nothing_are_kept_as_text_and_counted(lastmod):
    part = read(urlset(entry("https://e.com/a", lastmod)))
    assert [record.lastmod for record in part.pages.records()] == [lastmod]
    assert said(part) == {"unreadable_lastmods:1"}


def test_c11_wrong_roots_fail_and_odd_wrappings_do_not():
    for body in ("<foo/>", "<html><body/></html>", "<?xml version='1.0'?><sitemaps/>"):
        with pytest.raises(NotASitemap):
            read(body)
    split = urlset(entry("<![CDATA[https://e.com/a]]]]><![CDATA[>b]]>"), attributes='xmlns="urn:odd"')
    assert urls(read(split)) == ["https://e.com/a]]>b"]


@pytest.mark.parametrize("layers", [1, 2])
def test_decompression_bomb_stops_at_the_cap(layers):
    bomb = gzip.compress(b"<urlset>" + b" " * 30_000_000)
    body = gzip.compress(bomb) if layers == 2 else bomb
    tracemalloc.start()
    part = read(body, limits=Limits(decoded_bytes=5_000_000, entry_bytes=50_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert part.state == "over-limit"
    assert "decoded_cap:5000000" in said(part)
    assert part.decoded_bytes == 5_000_000
    assert peak < 30_000_000


def test_bomb_in_the_inner_layer_stops_at_the_cap_of_the_outer():
    inner = gzip.compress(gzip.compress(b"\0" * 200_000_000))
    with pytest.raises(Unreadable):
        read(inner, limits=Limits(decoded_bytes=100_000))


def test_three_layers_of_gzip_are_refused():
    with pytest.raises(Dangerous) as caught:
        read(gzip.compress(gzip.compress(gzip.compress(BASE.encode()))))
    assert caught.value.code == "too_many_layers"


def test_what_unpacks_to_much_is_unpacked_whole():
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = BASE.replace("</urlset>", " " * 3_000_000 + "</urlset>").encode()
    part = read(packer.compress(body) + packer.flush())
    assert (part.count, part.complete, part.decoded_bytes) == (3, True, len(body))


def test_endless_entry_stops_at_the_limit():
    body = (
        f"{DECLARATION}<urlset><url><loc>https://e.com/a</loc></url><url><x>{'<y>z</y>' * 600_000}</x></url></urlset>"
    )
    part = read(body, limits=Limits(entry_bytes=1_000_000))
    assert part.state == "over-limit"
    assert "entry_too_large" in codes(part)
    assert urls(part) == ["https://e.com/a"]


def test_dropped_text_node_makes_file_incomplete():
    body = urlset("<url><loc>" + "a" * 10_500_000 + "</loc></url>", entry("https://e.com/b"))
    part = read(body)
    assert not part.complete
    assert "lost_entries" in codes(part)


def test_file_of_invalid_bytes_is_read_in_bounded_time():
    part = read(BASE.encode().replace(b"</urlset>", b"<x>" + b"\xff\x81" * 500_000 + b"</x></urlset>"))
    assert part.count == 3
    assert "wrong_encoding" in codes(part)


UNITS = ["<!--", "<![CDATA[", "<?x", "<!DOCTYPE ", "&", "<url", "<url>", "</url>", "<b ", "<image:a ", "<b <!--x-->"]


@pytest.mark.parametrize("unit", [*UNITS, "<!x ", "<!x>", '<a b="', '<a b=">', "<", "</", "<loc", "]]>", "<b <?x?>"])
def test_repeated_beginnings_do_not_slow_the_reader_down(unit):
    # In quadratic time these would take minutes each.
    for body in (unit * 200_000, f"<urlset xmlns:image='i'>{unit * 200_000}</urlset>"):
        try:
            part = read(body)
        except Unreadable:
            continue
        assert part.count == 0


def test_file_is_read_from_its_start_wherever_it_stood():
    from watchbook.systems.sitemaps.parse import read_part

    file = BytesIO(BASE.encode())
    file.read(50)
    assert read_part(file, base_url=ADDRESS).count == 3
