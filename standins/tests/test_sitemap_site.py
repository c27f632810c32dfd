from __future__ import annotations

import gzip
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest

from standins.sitemap_site import SitemapSite
from standins.tests.clients import Reply, ask

NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture
def site():
    with SitemapSite() as site:
        yield site


def body(reply: Reply, layers: int = 0) -> bytes:
    data = reply.body
    for _ in range(layers):
        data = gzip.decompress(data)
    return data


def read_urls(data: bytes) -> list[tuple[str | None, ...]]:
    """All url entries by a plain XML reader."""
    names = ("loc", "lastmod", "changefreq", "priority")
    return [tuple(entry.findtext(NS + name) for name in names) for entry in ET.fromstring(data).iter(NS + "url")]


def children_of(site: SitemapSite, path: str = "/sitemap.xml") -> list[str]:
    root = ET.fromstring(ask(site, path).body)
    return [entry.findtext(NS + "loc").removeprefix(site.url) for entry in root.iter(NS + "sitemap")]


def crawl(site: SitemapSite, path: str = "/sitemap.xml", layers: int = 0) -> list[tuple[str | None, ...]]:
    """Every url entry below an index, whatever its depth."""
    reply = ask(site, path)
    data = body(reply, layers if path.endswith(".gz") else 0)
    if b"<sitemapindex" in data:
        return [entry for child in children_of(site, path) for entry in crawl(site, child, layers)]
    return read_urls(data)


def test_page_is_listed_with_all_it_says_about_itself(site):
    site.add("/a?x=1&y=<2>", "2026-01-01", "daily", "0.8")
    site.add("https://other.example/b")
    assert crawl(site) == [
        (site.url + "/a?x=1&y=<2>", "2026-01-01", "daily", "0.8"),
        ("https://other.example/b", None, None, None),
    ]


def test_sitemap_follows_the_ledger_through_edits_and_removals(site):
    site.add_many(["/a", "/b", "/c"], "2026-01-01")
    site.edit("/a", lastmod="2026-02-01", priority="0.9")
    site.edit("/b", lastmod=None)
    site.remove("/c")
    assert crawl(site) == [tuple(page) for page in site.world_at(site.mark())]
    assert [entry[1] for entry in crawl(site)] == ["2026-02-01", None]


def test_locs_can_begin_with_another_base():
    with SitemapSite(base="https://shop.example.com/") as site:
        site.add("/a")
        assert crawl(site)[0][0] == "https://shop.example.com/a"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_index_of_any_depth_lists_every_page_once(site, depth):
    site.add_bulk(100)
    site.split(7, depth=depth)
    assert sorted(crawl(site)) == sorted(tuple(page) for page in site.world_at(site.mark()))
    assert len(site.children()) == 7
    if depth > 1:
        assert all(path.startswith("/sitemap-index-") for path in children_of(site))


def test_resharding_and_shuffling_move_pages_but_change_none(site):
    site.add_bulk(60)
    site.split(4)
    before, mark = crawl(site), site.mark()
    first_child = read_urls(ask(site, site.child(1)).body)
    site.deal(5)
    dealt = crawl(site)
    assert read_urls(ask(site, site.child(1)).body) != first_child
    site.shuffle(3)
    shuffled = crawl(site)
    assert sorted(before) == sorted(dealt) == sorted(shuffled)
    assert before != dealt != shuffled
    assert site.changes_between(mark, site.mark()).is_empty


def test_removal_moves_no_page_to_another_child(site):
    site.add_many([f"/{number}" for number in range(10)])
    site.split(2)
    second = ask(site, site.child(2)).body
    site.remove("/0")
    assert ask(site, site.child(2)).body == second
    assert len(read_urls(ask(site, site.child(1)).body)) == 4


def test_new_pages_fill_the_last_child_and_then_open_another(site):
    site.add_many([f"/{number}" for number in range(4)])
    site.split(2)
    site.add("/4")
    assert children_of(site) == ["/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
    assert len(crawl(site)) == 5


@pytest.mark.parametrize(
    ("packing", "name", "encoding", "layers"),
    [
        ("file", "/sitemap-1.xml.gz", None, 1),
        ("encoding", "/sitemap-1.xml", "gzip", 1),
        ("both", "/sitemap-1.xml.gz", "gzip", 2),
    ],
)
def test_children_can_be_packed_in_every_way(site, packing, name, encoding, layers):
    site.add("/a")
    site.split(1)
    site.arrange(packing=packing)
    reply = ask(site, name)
    assert reply.headers["Content-Encoding"] == encoding
    assert read_urls(body(reply, layers))[0][0] == site.url + "/a"
    assert children_of(site) == [name]


def test_extensions_bring_foreign_locs(site):
    site.add("/a", "2026-01-01")
    site.arrange(extensions=["image", "news"])
    data = ask(site, "/sitemap.xml").body
    assert len(read_urls(data)) == 1
    tags = {element.tag.rpartition("}")[0] for element in ET.fromstring(data).iter()}
    assert len(tags) == 3


def test_text_rss_and_atom_list_the_same_pages(site):
    site.add_many(["/a", "/b&c"], "2026-01-01T10:00:00Z")
    urls = [site.url + "/a", site.url + "/b&c"]
    assert ask(site, "/sitemap.txt").body.decode().split() == urls
    assert body(ask(site, "/sitemap.txt.gz"), 1).decode().split() == urls
    rss = ET.fromstring(ask(site, "/rss.xml").body)
    assert [item.findtext("link") for item in rss.iter("item")] == urls
    assert rss.findtext("channel/item/pubDate") == "Thu, 01 Jan 2026 10:00:00 +0000"
    atom = ET.fromstring(ask(site, "/atom.xml").body)
    space = "{http://www.w3.org/2005/Atom}"
    assert [entry.find(space + "link").get("href") for entry in atom.iter(space + "entry")] == urls


def test_robots_names_the_sitemap_or_whatever_is_wanted(site):
    assert f"Sitemap: {site.sitemap}".encode() in ask(site, "/robots.txt").body
    site.robots(["/rel.xml", "https://e.com/x.xml"], crawl_delay=7)
    text = ask(site, "/robots.txt").body.decode()
    assert "Crawl-delay: 7\n" in text
    assert text.endswith("Sitemap: /rel.xml\nSitemap: https://e.com/x.xml\n")


def test_unchanged_file_is_answered_304(site):
    site.add("/a")
    first = ask(site, "/sitemap.xml")
    for header, value in (
        ("If-None-Match", first.headers["ETag"]),
        ("If-Modified-Since", first.headers["Last-Modified"]),
    ):
        reply = ask(site, "/sitemap.xml", headers={header: value})
        assert (reply.status, reply.body) == (304, b"")
        assert reply.headers["ETag"] == first.headers["ETag"]
    site.add("/b")
    for header, value in (
        ("If-None-Match", first.headers["ETag"]),
        ("If-Modified-Since", first.headers["Last-Modified"]),
    ):
        assert ask(site, "/sitemap.xml", headers={header: value}).status == 200


def test_only_the_child_that_changed_has_a_new_etag(site):
    site.add_many([f"/{number}" for number in range(4)])
    site.split(2)
    tags = [ask(site, path).headers["ETag"] for path in site.children()]
    site.edit("/3", lastmod="2026-01-01")
    new = [ask(site, path).headers["ETag"] for path in site.children()]
    assert new[0] == tags[0]
    assert new[1] != tags[1]


def test_validators_can_be_weak_missing_or_wrong(site):
    site.add("/a")
    first = ask(site, "/sitemap.xml").headers["ETag"]
    site.validate(etag="weak", last_modified=False)
    reply = ask(site, "/sitemap.xml", headers={"If-None-Match": first})
    assert (reply.status, reply.headers["ETag"], reply.headers["Last-Modified"]) == (304, f"W/{first}", None)
    site.validate(lie="stale")
    site.add("/b")
    assert ask(site, "/sitemap.xml", headers={"If-None-Match": first}).status == 304
    site.validate(lie="rotating")
    one, two = ask(site, "/sitemap.xml"), ask(site, "/sitemap.xml")
    assert one.body == two.body
    assert one.headers["ETag"] != two.headers["ETag"]
    site.validate(lie="ignored", etag="strong")
    tag = ask(site, "/sitemap.xml").headers["ETag"]
    assert ask(site, "/sitemap.xml", headers={"If-None-Match": tag}).status == 200
    site.validate(lie="none", etag="none")
    assert "ETag" not in ask(site, "/sitemap.xml").headers


def test_failed_and_cut_children_are_reported_and_removed_ones_deleted(site):
    site.add_bulk(30)
    site.split(3)
    with site.fail_child(1, 503):
        assert ask(site, site.child(1)).status == 503
    with site.truncate_child(2):
        with pytest.raises(ET.ParseError):
            crawl(site, site.child(2))
    assert len(crawl(site)) == 30
    site.forget_child(1, 3)
    assert children_of(site) == [site.child(2)]
    assert ask(site, site.child(1)).status == 200
    site.forget_child(1, 2, 3)
    assert children_of(site) == []


def test_index_dates_are_true_or_wrong_or_absent(site):
    site.add_many(["/a", "/b"], "2026-01-01")
    site.edit("/b", lastmod="2026-03-01")
    site.split(1)
    stamp = ET.fromstring(ask(site, "/sitemap.xml").body).findtext(f"{NS}sitemap/{NS}lastmod")
    assert stamp == "2026-03-01"
    site.arrange(index_lastmod="now")
    site.hold_time("2026-06-01T00:00:00+00:00")
    assert b"2026-06-01T00:00:00" in ask(site, "/sitemap.xml").body
    site.hold_time("2026-06-02T00:00:00+00:00")
    assert b"2026-06-02T00:00:00" in ask(site, "/sitemap.xml").body
    site.arrange(index_lastmod="none")
    assert b"lastmod" not in ask(site, "/sitemap.xml").body


def test_pages_answer_go_and_move(site):
    site.add_many(["/old", "/gone"])
    site.remove("/gone")
    site.rename("/old", "/new")
    assert ask(site, "/new").status == 200
    assert ask(site, "/gone").status == 404
    moved = ask(site, "/old")
    assert (moved.status, moved.headers["Location"]) == (301, site.url + "/new")


def test_state_a_request_was_answered_from_is_known(site):
    site.add("/a")
    ask(site, "/sitemap.xml")
    site.add("/b")
    ask(site, "/sitemap.xml")
    first, second = (site.mark_of(request) for request in site.log.all("/sitemap.xml"))
    assert [page.url for page in site.changes_between(first, second).added] == [site.url + "/b"]


def test_site_can_live_at_a_held_moment(site):
    site.hold_time(datetime(2026, 5, 1, tzinfo=UTC))
    site.add("/a")
    site.hold_time(datetime(2026, 5, 2, tzinfo=UTC))
    site.add("/b")
    assert len(site.world_at(datetime(2026, 5, 1, 12, tzinfo=UTC))) == 1
    assert ask(site, "/sitemap.xml").headers["Last-Modified"] == "Sat, 02 May 2026 00:00:00 GMT"


def test_everyday_life_changes_the_world_and_the_ledger_knows_it(site):
    site.add_bulk(20)
    before = {page.url: page for page in site.world_at(site.mark())}
    mark = site.mark()
    site.live(5)
    after = {entry[0]: entry for entry in crawl(site)}
    changes = site.changes_between(mark, site.mark())
    assert {page.url for page in changes.added} == after.keys() - before.keys()
    assert {page.url for page in changes.removed} == before.keys() - after.keys()
    assert changes.modified


def test_ledger_is_shown_to_other_processes(site):
    site.add("/a", "2026-01-01")
    shown = ask(site, "/_standin/ledger").json()
    assert (shown["count"], shown["sitemap"]) == (1, site.sitemap)
    assert shown["entries"][0]["page"]["lastmod"] == "2026-01-01"
    ask(site, "/_standin/do/edit", "POST", b'{"page": "/a", "lastmod": null}')
    assert crawl(site) == [(site.url + "/a", None, None, None)]
