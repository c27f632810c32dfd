"""Feeds as sitemaps: the address and the date of every item."""

from __future__ import annotations

import pytest

from watchbook.systems.sitemaps.parse.tests.files import ADDRESS, PAGES, read, urls


def pairs(part):
    return [(record.url, record.lastmod) for record in part.pages.records()]


def test_rss_2_gives_links_and_dates():
    part = read(
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
        '<link>https://e.com/</link><atom:link href="https://e.com/feed" rel="self"/><image><link>https://e.com/x</link>'
        "<url>https://e.com/logo.png</url></image>"
        "<item><title>A &amp; B &nbsp;</title><link>https://e.com/a</link><atom:link>https://e.com/no</atom:link>"
        "<pubDate>Mon, 06 May 2024 07:35:20 GMT</pubDate></item>"
        "<item><guid>https://e.com/b</guid><dc:date>2024-05-06</dc:date></item>"
        '<item><guid isPermaLink="false">tag:e.com,2024:1</guid></item>'
        "</channel></rss>"
    )
    assert part.kind == "rss"
    assert pairs(part) == [("https://e.com/a", "Mon, 06 May 2024 07:35:20 GMT"), ("https://e.com/b", "2024-05-06")]
    assert {str(note) for note in part.notes} == {"empty_locs:1", "html_entities:1"}
    assert part.complete


@pytest.mark.parametrize("space", ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"])
def test_atom_gives_alternate_links(space):
    part = read(
        f'<?xml version="1.0"?><feed xmlns="{space}"><link href="https://e.com/"/><id>urn:x</id>'
        '<entry><link rel="self" href="https://e.com/no"/><link href="/a"/><updated>2024-05-06T07:35:20Z</updated>'
        '<source><link href="https://other.example/"/></source></entry>'
        '<entry><link rel="alternate" href="https://e.com/b"/><modified>2024-05-07</modified></entry>'
        "<entry><id>https://e.com/c</id></entry></feed>"
    )
    assert part.kind == "atom"
    assert pairs(part) == [
        ("https://e.com/a", "2024-05-06T07:35:20Z"),
        ("https://e.com/b", "2024-05-07"),
        ("https://e.com/c", ""),
    ]


def test_rss_1_gives_items_beside_the_channel():
    items = "".join(f'<item rdf:about="{page}"><title>x</title></item>' for page in PAGES)
    part = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        f'<channel rdf:about="https://e.com/"><link>https://e.com/</link></channel>{items}</rdf:RDF>'
    )
    assert part.kind == "rdf"
    assert urls(part) == PAGES


def test_cut_feed_is_incomplete():
    part = read("<rss><channel><item><link>https://e.com/a</link></item><item><link>https://e.com/b")
    assert urls(part) == ["https://e.com/a"]
    assert not part.complete


def test_xml_base_of_feed_entry_and_link_is_used():
    body = b"""<?xml version="1.0"?>
    <feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://blog.example.com/en/">
      <entry><link href="one"/></entry>
      <entry xml:base="2026/"><link href="two"/></entry>
      <entry xml:base="https://other.example.com/a/"><link xml:base="b/" href="three?x=1&amp;y=2"/></entry>
      <entry><link href="https://www.example.com/four"/></entry>
    </feed>"""
    part = read(body)
    assert urls(part) == [
        "https://blog.example.com/en/2026/two",
        "https://blog.example.com/en/one",
        "https://other.example.com/a/b/three?x=1&y=2",
        "https://www.example.com/four",
    ]
    assert part.complete


def test_relative_xml_base_is_completed_by_the_address():
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base='/en/'><entry><link href="one"/></entry></feed>"""
    assert urls(read(body)) == [ADDRESS.rpartition("/")[0] + "/en/one"]
