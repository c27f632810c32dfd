"""What goes wrong in real files, beyond the numbered cases."""

from __future__ import annotations

import gzip
import zlib

import pytest

from watchbook.systems.sitemaps.parse.fast import Refused
from watchbook.systems.sitemaps.parse.records import Damaged, Limits, NotASitemap, Unreadable
from watchbook.systems.sitemaps.parse.tests.files import (
    BASE,
    BASE_BYTES,
    DECLARATION,
    IMAGES,
    NEWS,
    PAGES,
    SPACE,
    codes,
    entry,
    index,
    read,
    read_by_force,
    said,
    urls,
    urlset,
)

COMMENTED = "<!-- <url><loc>https://e.com/old</loc></url> -->"
IMAGE = "<image:image><image:loc>https://e.com/i.png</image:loc></image:image>"
WITH_IMAGES = f'xmlns="{SPACE}" xmlns:image="{IMAGES}"'


@pytest.mark.parametrize(
    "body",
    [
        BASE.replace("<url>", COMMENTED + "<url>", 1),
        BASE.replace("</url>", "</url>" + COMMENTED, 1),
        BASE.replace("</urlset>", COMMENTED + "</urlset>"),
        BASE.replace("<urlset", COMMENTED + "<urlset"),
        BASE + COMMENTED,
        BASE.replace("<loc>", "<!-- <loc>https://e.com/old</loc> --><loc>", 1),
        BASE.replace("<loc>", "<!-- & < > --><loc>", 1),
    ],
    ids=["before the first", "between", "after the last", "before the root", "after the root", "inside", "with markup"],
)
def test_what_is_commented_out_is_not_listed(body):
    part = read(body)
    assert urls(part) == PAGES
    assert part.complete
    assert part.notes == ()


@pytest.mark.parametrize(
    "body",
    [
        BASE.replace("<url>", COMMENTED + "<url>", 1),
        BASE.replace("/a<", "/\x01a<"),
        BASE.replace("/a<", "/a?x&y<"),
        BASE.replace("/a<", "/a&nbsp;<"),
        BASE.replace("https://e.com/a", "<![CDATA[https://e.com/a]]>"),
        BASE.replace("/a</loc>", "/a</loc><loc>https://e.com/z</loc>"),
        BASE.replace("<url>", "<sitemap/><url>", 1),
        BASE.replace("</urlset>", ""),
        BASE.replace("</loc>", f"</loc>{IMAGE}"),
        BASE.replace("<url>", '<url lang="en">', 1),
        BASE.replace("</url>", "</url>text", 1),
        BASE.replace("2026-01-01", "2026&#45;01-01"),
    ],
)
def test_fast_reader_refuses_what_is_not_plain(body):
    with pytest.raises(Refused):
        read_by_force(body.encode(), fast=True)


def test_fast_reader_accepts_entities_and_extensions():
    body = urlset(
        entry("https://e.com/?a=1&amp;b=&#233;", "2026-01-01", IMAGE), entry("https://e.com/b"), attributes=WITH_IMAGES
    )
    part = read_by_force(body.encode(), fast=True)
    assert urls(part) == ["https://e.com/?a=1&b=é", "https://e.com/b"]


def test_fields_of_an_image_are_not_fields_of_its_page():
    image = "<image:image><loc>https://e.com/i.png</loc><lastmod>2000-01-01</lastmod></image:image>"
    part = read(urlset(entry("https://e.com/a", "", image), attributes=WITH_IMAGES))
    assert [(r.url, r.lastmod) for r in part.pages.records()] == [("https://e.com/a", "")]


def test_foreign_loc_right_under_url_is_no_page():
    image = "<image:loc>https://e.com/i.png</image:loc>"
    body = urlset(f"<url>{image}<loc>https://e.com/a</loc></url>", attributes=WITH_IMAGES)
    assert urls(read(body)) == ["https://e.com/a"]
    undeclared = urlset(f"<url>{image}<loc>https://e.com/a</loc></url>")
    assert urls(read(undeclared)) == ["https://e.com/a"]


@pytest.mark.parametrize("declared", [f' xmlns:sit="{SPACE}"', ""])
def test_prefixed_urlset_is_read(declared):
    body = f"<sit:urlset{declared}><sit:url><sit:loc>https://e.com/a</sit:loc></sit:url></sit:urlset>"
    part = read(body)
    assert urls(part) == ["https://e.com/a"]
    assert part.complete


def test_second_prefix_of_pages_is_not_an_extension():
    body = urlset(
        entry("https://e.com/a"),
        "<s:url><s:loc>https://e.com/b</s:loc></s:url>",
        attributes=f'xmlns="{SPACE}" xmlns:s="{SPACE}"',
    )
    assert urls(read(body)) == ["https://e.com/a", "https://e.com/b"]


@pytest.mark.parametrize("space", [SPACE, "urn:odd"])
def test_prefixed_field_in_same_namespace_is_read(space):
    body = urlset(
        "<url><loc>https://e.com/a</loc><s:lastmod>2026-01-01</s:lastmod></url>",
        attributes=f'xmlns="{space}" xmlns:s="{space}"',
    )
    assert [record.lastmod for record in read(body).pages.records()] == ["2026-01-01"]


def test_entries_in_a_namespace_of_their_own_are_pages():
    body = urlset(
        entry("https://e.com/a"),
        "<x:url><x:loc>https://e.com/b</x:loc></x:url>",
        attributes=f'xmlns="{SPACE}" xmlns:x="urn:x"',
    )
    assert urls(read(body)) == ["https://e.com/a", "https://e.com/b"]


def test_several_gzip_members_and_zero_padding_are_one_file():
    half = len(BASE_BYTES) // 2
    members = gzip.compress(BASE_BYTES[:half]) + gzip.compress(BASE_BYTES[half:]) + b"\0" * 512
    part = read(members)
    assert urls(part) == PAGES
    assert part.notes == ()


def test_truncated_gzip_is_incomplete():
    body = urlset(*(entry(f"https://e.com/{n * 7919 % 10007}", "2026-01-01") for n in range(5000))).encode()
    part = read(gzip.compress(body)[:-2000])
    assert not part.complete
    assert "truncated_gzip" in codes(part)
    assert 0 < part.count < 5000


def test_corrupt_gzip_is_incomplete():
    packed = bytearray(gzip.compress(urlset(*(entry(f"https://e.com/{n * 7919}") for n in range(5000))).encode()))
    packed[-6] ^= 0xFF
    part = read(bytes(packed))
    assert part.count > 1000
    assert not part.complete
    assert "corrupt_gzip" in codes(part)


def test_gzip_that_is_broken_from_the_start_is_damaged():
    with pytest.raises(Damaged) as caught:
        read(b"\x1f\x8b\x08\x00broken")
    assert caught.value.code == "broken_off"


def test_raw_deflate_is_no_sitemap():
    with pytest.raises(NotASitemap):
        read(zlib.compress(BASE_BYTES))


def test_xml_error_document_is_a_failure():
    with pytest.raises(NotASitemap) as caught:
        read(
            "<?xml version='1.0'?><error><code>wp_die</code><urlset><url><loc>https://e.com/</loc></url></urlset></error>"
        )
    assert caught.value.code == "unknown_root"
    assert "<error>" in caught.value.message


@pytest.mark.parametrize(
    "body", ['{"urls": []}', "Service unavailable", "   \n\t ", "<!-- nothing -->", "%PDF-1.7\n..."]
)
def test_what_is_no_sitemap_is_a_failure(body):
    with pytest.raises(NotASitemap):
        read(body)


def test_page_that_mentions_urlset_is_still_a_page():
    with pytest.raises(NotASitemap) as caught:
        read("<!DOCTYPE html><html><script>let x = '<urlset><url>'</script></html>")
    assert caught.value.code == "html_page"


def test_page_without_its_html_tag_is_a_page():
    with pytest.raises(NotASitemap) as caught:
        read("<head><title>Moved</title></head><body>Moved</body>")
    assert caught.value.code == "html_page"


def test_empty_root_element_is_a_whole_list_without_pages():
    part = read('<urlset xmlns="x"/><url><loc>https://e.com/a</loc></url>')
    assert (part.count, part.complete) == (0, True)
    assert said(part) == {"text_after_root"}
    assert read("<sitemapindex/>").complete


def test_text_of_a_child_entry_is_its_address():
    body = "<sitemapindex><sitemap> https://e.com/1.xml </sitemap><sitemap><loc>2.xml</loc></sitemap></sitemapindex>"
    part = read(body)
    assert [child.url for child in part.children] == ["https://e.com/1.xml", "https://e.com/2.xml"]
    assert said(part) == {"bare_text_children:1", "relative_urls:1"}


def test_index_that_lists_itself_is_noted_and_whole():
    part = read(index("https://e.com/sitemap.xml", "https://e.com/1.xml"))
    assert [child.url for child in part.children] == ["https://e.com/1.xml"]
    assert part.complete
    assert said(part) == {"index_lists_itself"}


def test_invisible_characters_around_an_address_are_trimmed():
    part = read(urlset(entry("\u00a0\u200bhttps://e.com/a\ufeff"), entry("&#160;https://e.com/b&nbsp;")))
    assert urls(part) == ["https://e.com/a", "https://e.com/b"]
    assert said(part) == {"html_entities:1"}


def test_empty_addresses_are_counted_not_listed():
    part = read(urlset(entry(""), entry("  "), "<url><lastmod>2026-01-01</lastmod></url>", entry("https://e.com/a")))
    assert urls(part) == ["https://e.com/a"]
    assert said(part) == {"empty_locs:3"}
    assert part.listed == 4


def test_html_entities_become_letters():
    part = read(urlset(entry("https://e.com/caf&eacute;?a&copy=1&amp;b=&lt;")))
    assert urls(part) == ["https://e.com/café?a&copy=1&b=<"]
    assert said(part) == {"html_entities:1", "bare_ampersand:1"}


def test_ampersands_inside_cdata_stay_as_they_are():
    part = read(urlset(entry("<![CDATA[https://e.com/?a=1&b=2&nbsp;]]>")))
    assert urls(part) == ["https://e.com/?a=1&b=2&nbsp;"]
    assert part.notes == ()


def test_bytes_that_do_not_fit_utf_8_are_read_as_windows_1252():
    body = urlset(entry("https://e.com/X"), entry("https://e.com/é")).encode().replace(b"/X", b"/\xe9\x80")
    part = read(body)
    assert urls(part) == ["https://e.com/é", "https://e.com/é€"]
    assert said(part) == {"wrong_encoding:2"}


@pytest.mark.parametrize("name", ["utf-7", "hex", "x-made-up", "UTF-16"])
def test_impossible_encoding_is_ignored(name):
    part = read(urlset(entry("https://e.com/é"), declaration=f'<?xml version="1.0" encoding="{name}"?>'))
    assert urls(part) == ["https://e.com/é"]
    assert "unknown_encoding" in codes(part)


def test_chinese_encodings_are_read():
    body = urlset(entry("https://e.com/中文"), declaration='<?xml version="1.0" encoding="gb2312"?>').encode("gb2312")
    assert urls(read(body)) == ["https://e.com/中文"]


def test_charset_header_is_used_without_declaration():
    body = urlset(entry("https://e.com/é"), declaration="").encode("latin-1")
    part = read(body, content_type="text/xml; charset=ISO-8859-1")
    assert urls(part) == ["https://e.com/é"]
    assert part.notes == ()


def test_utf_16_without_a_mark_is_recognised():
    assert urls(read(BASE.replace("UTF-8", "UTF-16").encode("utf-16-be"))) == PAGES


def test_text_after_the_root_is_noted_and_not_listed():
    part = read(BASE + "<url><loc>https://e.com/z</loc></url>")
    assert urls(part) == PAGES
    assert part.complete
    assert said(part) == {"text_after_root"}


def test_bare_less_than_sign_is_repaired_and_noted():
    part = read(urlset(entry("https://e.com/?a<b"), entry("https://e.com/b")))
    assert urls(part) == ["https://e.com/?a<b", "https://e.com/b"]
    assert said(part) == {"bare_less_than:1"}


def test_addresses_inside_an_instruction_are_not_listed():
    part = read(BASE.replace("</urlset>", "<?old <url><loc>https://e.com/z</loc></url>?></urlset>"))
    assert urls(part) == PAGES
    assert part.complete


def test_broken_start_tag_of_the_root_does_not_lose_its_pages():
    body = BASE.replace("<urlset ", '<urlset a=b xmlns="urn:1" ').replace("</loc>", "</loc><x/>")
    part = read(body)
    assert urls(part) == PAGES
    assert part.complete


def test_doctype_without_entities_is_ignored_and_noted():
    part = read(BASE.replace("<urlset", '<!DOCTYPE urlset SYSTEM "https://e.com/x.dtd"><urlset'))
    assert urls(part) == PAGES
    assert said(part) == {"doctype_ignored"}


def test_news_parts_are_known_by_their_elements():
    news = "<news:news><news:title>x</news:title></news:news>"
    spaces = f'xmlns="{SPACE}" xmlns:news="{NEWS}"'
    assert read(urlset(entry("https://e.com/a", "", news), attributes=spaces)).news
    assert not read(urlset(entry("https://e.com/a"), attributes=spaces)).news
    assert read(urlset(attributes=spaces)).news
    cdata = "<news:news><news:title><![CDATA[x]]></news:title></news:news>"
    assert read(urlset(entry("https://e.com/a", "", cdata), attributes=spaces)).news


def test_entries_of_the_wrong_kind_are_counted():
    part = read(urlset(entry("https://e.com/a"), "<sitemap><loc>https://e.com/1.xml</loc></sitemap>"))
    assert urls(part) == ["https://e.com/a"]
    assert said(part) == {"misplaced_entries:1"}


def test_two_addresses_in_one_entry_are_noted():
    part = read(urlset("<url><loc>https://e.com/a</loc><loc>https://e.com/b</loc></url>"))
    assert urls(part) == ["https://e.com/a"]
    assert said(part) == {"extra_locs:1"}


def test_entry_that_was_never_closed_keeps_its_address():
    part = read(f"{DECLARATION}<urlset><url><loc>https://e.com/a</loc><url><loc>https://e.com/b</loc></url></urlset>")
    assert "https://e.com/b" in urls(part)
    assert part.complete == (part.count == 2)


def test_fields_are_read_in_any_order():
    body = urlset(
        "<url><lastmod>2026-01-01</lastmod><loc>https://e.com/a</loc></url>",
        "<url><loc>https://e.com/b</loc><priority>0.5</priority><lastmod>2026-01-02</lastmod></url>",
    )
    assert [(r.url, r.lastmod, r.priority) for r in read(body).pages.records()] == [
        ("https://e.com/a", "2026-01-01", ""),
        ("https://e.com/b", "2026-01-02", "0.5"),
    ]


def test_unreadable_dates_are_counted_and_kept():
    part = read(urlset(entry("https://e.com/a", "yesterday"), entry("https://e.com/b", "2026-01-01")))
    assert [r.lastmod for r in part.pages.records()] == ["yesterday", "2026-01-01"]
    assert said(part) == {"unreadable_lastmods:1"}


def test_too_many_pages_stop_the_reading_and_make_it_over_limit():
    body = urlset(*(entry(f"https://e.com/{n}") for n in range(20)))
    part = read(body, limits=Limits(urls=5))
    assert (part.count, part.state) == (5, "over-limit")
    assert "too_many_urls:5" in said(part)
    assert read(index(*(f"https://e.com/{n}" for n in range(9))), limits=Limits(children=3)).state == "over-limit"


def test_more_than_the_protocol_allows_is_noted_and_read():
    part = read("\n".join(f"https://e.com/{n}" for n in range(50_001)))
    assert part.count == 50_001
    assert part.complete
    assert said(part) == {"over_50000_urls"}


def test_every_note_and_failure_has_a_sentence():
    part = read(BASE.replace("/a<", "/a?x&y<"))
    assert part.notes[0].message == "1 unescaped ampersand was fixed."
    with pytest.raises(Unreadable) as caught:
        read("")
    assert caught.value.message.endswith(".")
