"""The numbered odd inputs that sites were seen to send, each with the result it has to give."""

from __future__ import annotations

import gzip

import pytest

from watchbook.systems.sitemaps.parse.records import NotASitemap
from watchbook.systems.sitemaps.parse.tests.files import (
    BASE,
    BASE_BYTES,
    IMAGES,
    PAGES,
    SPACE,
    codes,
    entry,
    index,
    read,
    said,
    urls,
    urlset,
)

IMAGE = "<image:image><image:loc>https://e.com/i.png</image:loc></image:image>"
TEXT_LIST = "\ufeff" + "\r\n".join(PAGES) + "\r\n"
THOUSAND = urlset(*(entry(f"https://e.com/page-{n:04}", "2026-01-01") for n in range(1000))).encode()
WHOLE_AND_SILENT = {
    "S1 plain": BASE_BYTES,
    "S2 and S4 gzipped": gzip.compress(BASE_BYTES),
    "S3 plain under a gz name": BASE_BYTES,
    "S7 byte order mark": b"\xef\xbb\xbf" + BASE_BYTES,
    "S8 UTF-16": BASE.replace("UTF-8", "UTF-16").encode("utf-16"),
    "S10 no namespace": BASE.replace(f' xmlns="{SPACE}"', "").encode(),
    "S11 old namespace": BASE.replace(SPACE, "http://www.google.com/schemas/sitemap/0.84").encode(),
    "S12 odd namespace": BASE.replace(SPACE, "https://www.sitemaps.org/schemas/sitemap/0.9/").encode(),
    "S14 images": urlset(
        *(entry(page, "2026-01-01", IMAGE) for page in PAGES), attributes=f'xmlns="{SPACE}" xmlns:image="{IMAGES}"'
    ).encode(),
    "S17 white space first": b"\n\n" + BASE_BYTES,
    "S19 comment after the root": BASE_BYTES + b"\n<!-- made in 0.1 s -->",
    "S25 text list": TEXT_LIST.encode(),
    "S26 text list gzipped": gzip.compress(TEXT_LIST.encode()),
    "S30 CDATA and white space": urlset(
        entry("<![CDATA[https://e.com/a]]>"),
        entry("\n  https://e.com/b\n"),
        entry(" \t<![CDATA[ https://e.com/c ]]>\n"),
    ).encode(),
}


@pytest.mark.parametrize("name", WHOLE_AND_SILENT)
def test_three_pages_are_read_whole_and_without_a_note(name):
    part = read(WHOLE_AND_SILENT[name])
    assert urls(part) == PAGES
    assert part.complete
    assert part.state == "ok"
    assert part.notes == ()


def test_s5_two_layers_of_gzip_are_peeled():
    part = read(gzip.compress(gzip.compress(BASE_BYTES)))
    assert urls(part) == PAGES
    assert part.complete
    assert said(part) == {"double_gzip"}


def test_s6_text_after_the_gzip_stream_is_noted_and_harmless():
    part = read(gzip.compress(BASE_BYTES) + b"<!-- cached by X -->")
    assert urls(part) == PAGES
    assert part.complete
    assert said(part) == {"trailing_bytes_after_gzip"}


def test_s9_latin_1_keeps_its_letters():
    body = BASE.replace("UTF-8", "ISO-8859-1").replace("e.com/a", "e.com/é").encode("latin-1")
    part = read(body)
    assert urls(part) == ["https://e.com/b", "https://e.com/c", "https://e.com/é"]
    assert part.notes == ()


def test_s13_an_undeclared_prefix_does_not_lose_pages():
    part = read(urlset(*(entry(page, "2026-01-01", IMAGE) for page in PAGES)))
    assert urls(part) == PAGES
    assert part.complete
    assert said(part) == {"undeclared_prefix"}


def test_s15_a_bare_ampersand_is_repaired_and_noted():
    part = read(BASE.replace("e.com/a", "e.com/a?x=1&y=2"))
    assert urls(part) == ["https://e.com/a?x=1&y=2", "https://e.com/b", "https://e.com/c"]
    assert part.complete
    assert said(part) == {"bare_ampersand:1"}


def test_s16_a_control_character_is_removed_and_noted():
    part = read(BASE.replace("e.com/a", "e.com/a\x0b"))
    assert urls(part) == PAGES
    assert said(part) == {"control_characters:1"}


def test_control_character_in_address_is_removed_and_noted():
    part = read(BASE.replace("e.com/a", "e.com/\x01a"))
    assert urls(part) == PAGES
    assert said(part) == {"control_characters:1"}


def test_s18_a_php_warning_before_the_document_is_noted():
    warning = "<br />\n<b>Warning</b>:  Undefined variable in <b>/srv/x.php</b> on line <b>3</b><br />\n"
    part = read(warning + BASE)
    assert urls(part) == PAGES
    assert part.complete
    assert said(part) == {"text_before_root"}


def test_s20_a_cut_file_is_incomplete_and_lists_no_half_page():
    part = read(THOUSAND[:30_000])
    assert not part.complete
    assert part.state == "incomplete"
    assert "root_not_closed" in codes(part)
    assert 0 < part.count < 1000
    assert all(url in THOUSAND.decode() for url in urls(part))


def test_s21_a_cut_connection_makes_even_a_closed_file_incomplete():
    part = read(BASE_BYTES, transport_complete=False)
    assert urls(part) == PAGES
    assert not part.complete
    assert said(part) == {"transport_cut"}


def test_s22_a_web_page_is_not_a_sitemap():
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><url/></body></html>'
    with pytest.raises(NotASitemap) as caught:
        read(page, content_type="text/html")
    assert caught.value.code == "html_page"


def test_s23_an_empty_body_is_a_failure():
    with pytest.raises(NotASitemap) as caught:
        read(b"")
    assert caught.value.code == "empty_body"


def test_s24_an_empty_urlset_has_no_pages_and_is_whole():
    part = read(urlset())
    assert (part.kind, part.count, part.complete) == ("urlset", 0, True)


def test_s27_the_channel_link_of_rss_is_no_page():
    items = "".join(f"<item><title>x</title><link>{page}</link></item>" for page in PAGES)
    part = read(f'<rss version="2.0"><channel><link>https://e.com/</link>{items}</channel></rss>')
    assert part.kind == "rss"
    assert urls(part) == PAGES
    assert part.complete


def test_s28_relative_addresses_are_completed():
    part = read(urlset(entry("/a"), entry("b"), entry("//e.com/c")))
    assert urls(part) == PAGES
    assert said(part) == {"relative_urls:3"}


def test_s29_a_repeated_page_is_listed_once():
    part = read(urlset(*(entry(page, "2026-01-01") for page in [*PAGES, PAGES[0]])))
    assert urls(part) == PAGES
    assert (part.count, part.listed) == (3, 4)
    assert said(part) == {"duplicate_urls:1"}


def test_s31_to_s33_index_lists_children_and_reports_bad_ones():
    part = read(index("https://e.com/1.xml", "https://e.com/2.xml"))
    assert part.kind == "index"
    assert [child.url for child in part.children] == ["https://e.com/1.xml", "https://e.com/2.xml"]
    assert (part.count, part.listed) == (0, 2)
    with pytest.raises(NotASitemap):
        read("<!doctype html><title>Not found</title>")
    assert not read(THOUSAND[:30_000]).complete


def test_s34_an_index_of_indexes_is_read_level_by_level():
    for depth in range(3):
        assert read(index(f"https://e.com/{depth}.xml")).children[0].url == f"https://e.com/{depth}.xml"


def test_s35_the_address_after_a_redirect_is_the_base():
    part = read(urlset(entry("page")), base_url="https://www.e.com/maps/sitemap.xml")
    assert urls(part) == ["https://www.e.com/maps/page"]
