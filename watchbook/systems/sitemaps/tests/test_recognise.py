"""Finding what a website offers: robots.txt, links, usual addresses, feeds; every request counted and bounded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standins.server import Answer, Site
from watchbook.core.accounts.models import User
from watchbook.core.sources import recognise
from watchbook.core.sources.recognise import MOST_REQUESTS
from watchbook.core.sources.records import AddError, Offer
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.parse.page import read_head
from watchbook.systems.sitemaps.tests.conftest import trust

pytestmark = pytest.mark.django_db

PAGE = "<html><head><title>{title}</title>{links}</head><body>Welcome</body></html>"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with Site() as made:
        trust(monkeypatch, made.netloc)
        yield made


def page(site: Site, path: str, title: str = "Lantern shop", links: str = "") -> None:
    html = PAGE.format(title=title, links=links)
    site.route(path, lambda _request: Answer(200, html.encode(), content_type="text/html"))


def robots(site: Site, text: str) -> None:
    site.route("/robots.txt", lambda _request: Answer.text(text))


def sitemap(site: Site, path: str, *pages: str) -> None:
    row = "<url><loc>{}{}</loc><lastmod>2026-11-1{}</lastmod></url>"
    rows = "".join(row.format(site.url, one, number) for number, one in enumerate(pages))
    body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
    site.route(path, lambda _request: Answer(200, body.encode(), content_type="application/xml"))


def feed(site: Site, path: str, *pages: str) -> None:
    rows = "".join(f"<item><title>{one}</title><link>{site.url}{one}</link></item>" for one in pages)
    body = f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{rows}</channel></rss>'
    site.route(path, lambda _request: Answer(200, body.encode(), content_type="application/rss+xml"))


def look(user: User, text: str) -> Offer:
    found = recognise.recognise(text, "sitemaps").found
    assert found is not None
    return recognise.make_offer(user, found)


def paths(site: Site) -> list[str]:
    return [request.path for request in site.log.all()]


def test_robots_sitemaps_of_one_site_are_offered_together(shop: Site, alice: User) -> None:
    page(shop, "/")
    page(shop, "/b", "Pier 4")
    robots(shop, f"Crawl-delay: 10\nSitemap: {shop.url}/sitemap-pages.xml\nSitemap: {shop.url}/sitemap-news.xml\n")
    sitemap(shop, "/sitemap-pages.xml", "/a", "/b")
    sitemap(shop, "/sitemap-news.xml", "/n")
    offer = look(alice, shop.url)
    assert [(pick.title, pick.detail.split(",")[0], pick.is_ticked) for pick in offer.picks] == [
        ("Sitemap: pages", "2 pages", True),
        ("Sitemap: news", "1 page", True),
    ]
    assert offer.title == "Website: Lantern shop"
    assert ("Pier 4", "/b") in [(item.title, item.detail) for item in offer.items]
    assert offer.requests_made == len(paths(shop)) <= MOST_REQUESTS


def test_linked_sitemap_and_feed_are_found(shop: Site, alice: User) -> None:
    links = (
        '<link rel="sitemap" href="/map.xml"><link rel="alternate" type="application/rss+xml" title="Notices"'
        ' href="/notices.xml">'
    )
    page(shop, "/", links=links)
    sitemap(shop, "/map.xml", "/a", "/b")
    feed(shop, "/notices.xml", "/a")
    offer = look(alice, shop.url)
    assert [(pick.title, pick.is_ticked) for pick in offer.picks] == [("Sitemap: map", True), ("Feed: Notices", False)]
    assert offer.picks[1].detail == "1 page, all of them also in a sitemap"


@pytest.mark.parametrize("path", ["/sitemap.xml", "/wp-sitemap.xml", "/rss.xml"])
def test_usual_address_is_tried(shop: Site, alice: User, path: str) -> None:
    page(shop, "/")
    (feed if path == "/rss.xml" else sitemap)(shop, path, "/a")
    offer = look(alice, shop.url)
    assert [pick.path for pick in offer.picks] == [path]
    assert offer.picks[0].is_ticked
    assert offer.requests_made <= MOST_REQUESTS


@pytest.mark.parametrize(("path", "title"), [("/any.xml", "Sitemap: 127.0.0.1"), ("/feed", "RSS feed: 127.0.0.1")])
def test_address_of_a_list_is_offered_alone(shop: Site, alice: User, path: str, title: str) -> None:
    (feed if path == "/feed" else sitemap)(shop, path, "/a", "/b")
    offer = look(alice, shop.address(path))
    assert (offer.title, len(offer.picks), offer.can_add) == (title, 1, True)


def test_site_without_lists_names_what_was_tried(shop: Site, alice: User) -> None:
    page(shop, "/")
    offer = look(alice, shop.url)
    assert not offer.can_add
    assert "No sitemap and no feed was found" in offer.why_not
    assert "/sitemap.xml" in offer.facts[0]
    assert offer.requests_made == len(paths(shop)) <= MOST_REQUESTS


def test_many_sitemaps_and_redirects_stay_within_the_limit(shop: Site, alice: User) -> None:
    page(shop, "/")
    robots(shop, "\n".join(f"Sitemap: {shop.url}/s{n}.xml" for n in range(30)))
    shop.route("/s*.xml", lambda request: Answer(302, b"", headers=[("Location", f"/x{request.path}")]))
    sitemap(shop, "/x/*", "/a")
    offer = look(alice, shop.url)
    assert len(paths(shop)) == offer.requests_made == MOST_REQUESTS
    assert len(offer.picks) == 20
    assert "10 more lists not shown" in offer.facts


@pytest.mark.parametrize(("status", "words"), [(403, "HTTP 403"), (503, "HTTP 503"), (404, "HTTP 404")])
def test_failure_is_named_with_its_reason(shop: Site, alice: User, status: int, words: str) -> None:
    shop.route("/*", lambda _request: Answer(status, b"no"))
    offer = look(alice, shop.address("/sitemap.xml"))
    assert not offer.can_add
    assert words in offer.why_not


def test_private_address_behind_a_redirect_is_refused(shop: Site, alice: User) -> None:
    shop.route("/", lambda _request: Answer(302, b"", headers=[("Location", "http://169.254.169.254/")]))
    offer = look(alice, shop.url)
    assert not offer.can_add
    assert [request.path for request in shop.log.all()].count("/") == 1


def test_chosen_sitemaps_become_monitors_without_a_second_request(shop: Site, alice: User) -> None:
    page(shop, "/")
    robots(shop, f"Sitemap: {shop.url}/sitemap-pages.xml\nSitemap: {shop.url}/sitemap-news.xml\n")
    sitemap(shop, "/sitemap-pages.xml", "/a")
    sitemap(shop, "/sitemap-news.xml", "/n")
    found = recognise.recognise(shop.url).found
    assert found is not None
    signed = recognise.read_proof(alice, recognise.sign(alice, found, recognise.make_offer(alice, found)))
    asked = len(paths(shop))
    made = recognise.add(alice, signed, frequency=360, notify=["new"])
    assert len(paths(shop)) == asked
    assert [one.title for one in made] == ["127.0.0.1: pages", "127.0.0.1: news"]
    monitor = MonitorTask.objects.of(alice).get(name="127.0.0.1: news")
    assert (monitor.check_interval_minutes, monitor.tell_added, monitor.tell_modified) == (360, True, False)
    with pytest.raises(AddError) as refused:
        recognise.add(alice, signed)
    assert (refused.value.code, refused.value.url) == ("exists", made[0].url)
    assert look(alice, shop.url).code == "exists"


def test_head_of_hostile_page_is_read_in_bounds() -> None:
    head = read_head("<link " * 50_000 + "<title>" + "x" * 100_000, "https://example.com/")
    assert (head.title, head.feeds) == ("x" * 200, ())
    assert read_head('<link rel="sitemap" href="javascript:alert(1)">', "https://example.com/").sitemaps == ()
