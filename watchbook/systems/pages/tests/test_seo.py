"""Pages as the real web sends them: headers for search engines, structured data, walls, and lists that lie."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from standins.messages import Answer
from watchbook.base import clock
from watchbook.systems.pages import actions
from watchbook.systems.pages.jobs.read import due_pages, run_due_now
from watchbook.systems.pages.models import CHANGED, FIRST, LEFT, RETURNING, Page, PageEvent, Site, SiteDay
from watchbook.systems.pages.parse.headers import header_fields, is_noindex, joined, refresh_target
from watchbook.systems.pages.parse.structured import structured_fields
from watchbook.systems.pages.parse.text import read_page
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.pages.tests.test_lists import publish


@pytest.mark.parametrize(
    ("values", "robots"),
    [
        (["noindex, nofollow"], "noindex, nofollow"),
        (["googlebot: noindex"], "noindex"),
        (["otherbot: noindex, nofollow"], ""),
        (["otherbot: noindex", "max-snippet: 50, unavailable_after: 25 Jun 2027 15:00:00 PST"],
         "max-snippet: 50, unavailable_after: 25 Jun 2027 15:00:00 PST"),
        ([":", " , ,"], ":"),
    ],
)  # fmt: skip
def test_robots_header_is_read_for_all_crawlers_and_google(values: list[str], robots: str) -> None:
    assert header_fields(values, [], "").get("robots", "") == robots


def test_link_header_has_canonical_and_language_versions() -> None:
    said = header_fields(
        [],
        [
            '<https://example.com/a>; rel="canonical", <https://example.com/de>; rel=alternate; hreflang="de"',
            '</x.css>; rel=preload; as=style, <https://example.com/b>; rel="canonical"',
        ],
        "",
    )
    assert said == {"canonical": "https://example.com/a", "hreflang": "de https://example.com/de"}
    assert joined({"canonical": "/own", "hreflang": "fr /fr"}, said) == {
        "canonical": "/own", "hreflang": "de https://example.com/de\nfr /fr",
    }  # fmt: skip
    assert joined({"robots": "index, follow"}, {"robots": "noindex, follow"})["robots"] == "index, follow, noindex"


@pytest.mark.parametrize(
    ("robots", "expected"),
    [("noindex", True), ("NONE", True), ("follow, NoIndex", True), ("index", False), ("nonexistent", False)],
)
def test_noindex_is_a_directive(robots: str, *, expected: bool) -> None:
    assert is_noindex(robots) is expected


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ("0; url=/new", "/new"), ("0;URL='https://example.com/a'", "https://example.com/a"), ("5, /new", "/new"),
        ("600; url=/ticker", ""), ("30", ""), ("", ""), ("url=/new", ""),
    ],
)  # fmt: skip
def test_refresh_leads_to_an_address_or_reloads(said: str, target: str) -> None:
    assert refresh_target(said) == target


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        # Offers in several currencies: the first one as a whole
        ({"@type": "Product", "offers": [{"price": 10, "priceCurrency": "EUR"}, {"price": 12, "priceCurrency": "USD"}]},
         {"price": "10", "currency": "EUR"}),
        ({"@type": "Product", "offers": {"@type": "AggregateOffer", "lowPrice": "5", "priceCurrency": "CHF",
                                         "offers": [{"price": "9", "priceCurrency": "EUR"}]}},
         {"price": "5", "currency": "CHF"}),
        # The currency stands in another node than the price
        ({"offers": {"price": "5", "priceSpecification": {"priceCurrency": "CNY"}}}, {"price": "5", "currency": "CNY"}),
        # A graph: other products, reviews and entries of lists are not this page
        ({"@graph": [{"@type": "Organization", "name": "Shop"},
                     {"@type": "Product", "review": [{"datePublished": "2020-01-01", "author": "Ada"}],
                      "isRelatedTo": {"offers": {"price": "99"}}, "offers": {"price": "7", "availability": "InStock"}},
                     {"@type": "ItemList", "itemListElement": [{"offers": {"price": "1"}}]}]},
         {"price": "7", "availability": "InStock"}),
        ([{"@type": "ItemList", "itemListElement": [{"offers": {"price": "1"}}]}], {}),
        ([[{"@type": ["Article", "BlogPosting"], "author": [{"name": "Ada"}, {"name": "Lin"}]}]], {"author": "Ada"}),
    ],
)  # fmt: skip
def test_structured_data_is_that_of_the_page_itself(data: Any, fields: dict[str, str]) -> None:
    assert structured_fields([json.dumps(data)]) == fields


@pytest.mark.parametrize(
    ("html", "signs"),
    [
        ("<title>Before you continue</title><body><p>Choose.</p>", ["wall"]),
        ("<title>Shop</title><body><p>We use cookies. Accept all cookies to see this site.</p>", ["wall"]),
        ("<title>Rope</title><body><h1>Rope</h1><p>Rope by the metre. Accept all cookies</p>", []),
        ("<title>Cookie recipes</title><body><h1>Cookie recipes</h1><p>Accept all help you get.</p>", []),
    ],
)
def test_cookie_page_in_the_place_of_a_page_is_a_wall(html: str, signs: list[str]) -> None:
    assert read_page(html.encode())["signs"] == signs


FORM = "<form><input name=user><input type=password><button>Go</button></form>"
SENTENCE = "Tarred rope by the metre, three strands, made in the harbour since the great flood. "


@pytest.mark.parametrize(
    ("html", "signs"),
    [
        # Shops and forums have a form for the password in the head of every page.
        (f"<title>Rope</title><body><header>{FORM}</header><main><h1>Rope</h1><p>{SENTENCE * 5}</p></main>", []),
        (f"<title>Log in</title><body><main><p>{SENTENCE * 5}</p>{FORM}</main>", ["wall"]),
        (f"<title>Shop</title><body><main><p>Enter your password. {SENTENCE * 5}</p>{FORM}</main>", ["wall"]),
        (f"<title>Shop</title><body><main><p>Members only.</p>{FORM}</main>", ["wall"]),
        (f"<title>Rope</title><body><main><h1>Rope</h1><p>{SENTENCE * 20}</p></main>{FORM}", []),
    ],
)
def test_form_for_a_password_is_a_wall_only_where_the_page_asks_for_it(html: str, signs: list[str]) -> None:
    assert read_page(html.encode())["signs"] == signs


@pytest.mark.parametrize(
    ("title", "signs"),
    [
        *((title, ["soft_404"]) for title in (
            "404", "404 Not Found", "Error 404", "404 - Shop", "Shop | 404", "Oops! 404", "Shop (404)", "HTTP 404",
            "404 error page", "404页面不存在", "Page not found",
        )),
        *((title, []) for title in ("Peugeot 404", "Ontario Highway 404", "404 rooms", "Rope 404-12", "Part 1404")),
    ],
)  # fmt: skip
def test_number_404_is_an_error_page_only_when_alone(title: str, signs: list[str]) -> None:
    html = f"<title>{title}</title><body><main><p>{SENTENCE * 5}</p></main>"
    assert read_page(html.encode())["signs"] == signs


def test_megabytes_of_script_leave_text_and_fields() -> None:
    script = "<script>" + "var a = '<p>not text</p>';" * 200_000 + "</script>"
    page = f"<title>Rope</title>{script}<body><h1>Rope</h1><p>Rope by the metre, tarred or plain.</p>{script}"
    found = read_page(page.encode())
    assert found["fields"]["title"] == "Rope"
    assert "Rope by the metre, tarred or plain." in found["text"]
    assert "not text" not in found["text"]


@pytest.mark.django_db
def test_header_noindex_is_shown_counted_and_notified_like_that_of_the_page(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares")
    actions.add_rule(page.site, condition="noindex appeared")
    desk.read()
    desk.site.write("/fares", headers=(("X-Robots-Tag", "noindex"),))
    desk.read()
    page.refresh_from_db()
    assert page.is_noindex
    assert desk.versions(page)[1].fields["robots"] == "noindex"
    assert sorted(PageEvent.objects.values_list("kind", flat=True)) == ["changed", "rule"]


@pytest.mark.django_db
def test_page_that_only_refreshes_is_a_version_with_its_target(desk: Desk) -> None:
    desk.site.texts.files["/old"] = Answer.html('<meta http-equiv="Refresh" content="0; url=/new">')
    page = desk.watch("/old")
    desk.read()
    assert desk.versions(page)[0].fields["refresh"] == "/new"


@pytest.mark.django_db
def test_url_that_left_to_another_website_moved_there(desk: Desk) -> None:
    publish(desk, "/a", "/b")
    desk.website()
    desk.cycle()
    desk.site.remove("/b")
    # The same server under its other name
    there = f"http://localhost:{desk.site.netloc.partition(':')[2]}/a"
    del desk.site.texts.pages["/b"]
    desk.site.redirect("/b", there)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"{desk.site.netloc},{there.split('/')[2]}")
        desk.cycle()
    assert (desk.page("/b").fate, desk.page("/b").moved_to) == ("moved", there)


@pytest.mark.django_db
def test_list_whose_dates_always_change_lets_every_page_have_its_turn(desk: Desk) -> None:
    """Each day all pages get another lastmod, and the budget suffices for a few: none waits for ever."""
    paths = [f"/p/{n:02d}" for n in range(12)]
    publish(desk, *paths)
    desk.website(daily_requests=11)
    for day in range(1, 8):
        for path in paths:
            desk.site.edit(path, lastmod=f"2026-02-{day:02d}")
        desk.cycle(timedelta(days=1))
    assert not Page.objects.filter(last_read_at=None).exists()
    assert max(SiteDay.objects.values_list("requests", flat=True)) <= 11


@pytest.mark.django_db
def test_every_fifth_place_is_for_pages_that_wait_behind_others(desk: Desk) -> None:
    page = desk.watch("/a")
    made = [
        Page(site=page.site, url=f"https://example.com/{kind}/{n}", url_digest=f"{kind}/{n}", section="/",
             priority=kind, first_seen_at=desk.now, changed_at=desk.now, next_at=desk.now)
        for kind in (CHANGED, LEFT, RETURNING, FIRST) for n in range(60)
    ]  # fmt: skip
    page.delete()
    Page.objects.bulk_create(made)
    kinds = [one.priority for one in due_pages(page.site, desk.now)]
    assert kinds[:10] == [CHANGED] * 4 + [LEFT] + [CHANGED] * 4 + [RETURNING]
    assert {kind: kinds.count(kind) for kind in (CHANGED, LEFT, RETURNING, FIRST)} == {
        CHANGED: 40, LEFT: 4, RETURNING: 3, FIRST: 3,
    }  # fmt: skip
    Page.objects.filter(priority=CHANGED).delete()
    with clock.set_to(desk.now):
        assert [one.priority for one in due_pages(page.site, desk.now)].count(LEFT) == 40


@pytest.mark.django_db
def test_lastmod_that_never_meant_a_change_gives_no_precedence(desk: Desk) -> None:
    publish(desk, "/liar", "/honest")
    desk.website()
    for day in range(1, 8):
        desk.site.edit("/liar", lastmod=f"2026-02-{day:02d}")
        desk.cycle(timedelta(days=1))
    desk.site.write("/honest", paragraphs=["Another text."])
    desk.cycle(timedelta(days=1))
    for path in ("/liar", "/honest"):
        desk.site.edit(path, lastmod="2026-02-20")
    desk.now += timedelta(hours=1)
    with clock.set_to(desk.now):
        desk.check_list()
        Site.objects.update(daily_requests=1, next_at=desk.now)  # used up: the list is read, and no page
        run_due_now()
    assert (desk.page("/liar").priority, desk.page("/honest").priority) == (RETURNING, CHANGED)
