"""Rules: conditions that people write, their preview, and one notification for each crossing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.systems.pages import actions
from watchbook.systems.pages.filters import completeness
from watchbook.systems.pages.models import PageEvent, SiteDay, SiteRule
from watchbook.systems.pages.parse.robots import parse_robots
from watchbook.systems.pages.parse.rules import (
    InvalidPattern,
    InvalidRule,
    check_pattern,
    figure,
    matches,
    parse_condition,
)
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.pages.tests.test_lists import publish


@pytest.mark.parametrize(
    ("condition", "fields", "text", "is_true"),
    [
        ("text contains Half Price", {}, "Lanterns at half price", True),
        ("text lacks sold", {}, "Lanterns, sold out", False),
        ("title contains 优惠", {"title": "秋季优惠"}, "", True),
        ("price < 50", {"price": "49.90"}, "", True),
        ("price >= 50", {"price": "1.299,00 EUR"}, "", True),
        ("price < 50", {}, "", False),
        ("status != 200", {"status": "404"}, "", True),
        ("noindex appeared", {"robots": "NOINDEX, follow"}, "", True),
    ],
)
def test_condition_is_true_of_a_version(condition: str, fields: dict[str, str], text: str, is_true: bool) -> None:
    assert parse_condition(condition).holds(fields, text) is is_true


@pytest.mark.parametrize(
    "text",
    [
        "",
        "price",
        "price < x",
        "cookie contains y",
        "text contains",
        "more than x new",
        "more than 5 new under products",
        "1 = 1; drop table",
    ],
)
def test_text_that_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InvalidRule):
        parse_condition(text)


def test_patterns_and_figures_are_read() -> None:
    assert matches("/products/", "https://example.com/products/1")
    assert matches("/products/*/offer", "https://example.com/products/1/offer")
    assert not matches("/products/", "https://example.com/news/products/")
    assert matches(r"re:/products/\d+$", "https://example.com/a/products/17")
    assert not matches(r"re:^/products/\d+$", "https://example.com/products/17?page=2")
    assert matches("https://shop.", "https://shop.example.com/")
    assert [figure(text) for text in ("3.90", "1,299.00", "1.299,00", "EUR 5", "12,5", "none")] == [
        3.9, 1299.0, 1299.0, 5.0, 12.5, None,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["products", "re:(", "re:(?=a)", r"re:(a)\1", "re:((a{1000}){1000})", "/" + "a" * 200])
def test_text_that_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(InvalidPattern):
        check_pattern(text)


@pytest.mark.parametrize(
    "pattern", ["re:^/(a+)+$", "re:^/(a|a)*$", "/*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", "/?*?*?*?*?*?*?*b"]
)
def test_hostile_pattern_needs_no_more_than_linear_time(pattern: str) -> None:
    """Python's own engine would not return from these before the test run is stopped."""
    assert not matches(pattern, "https://example.com/" + "a" * 2000 + "!")


def test_hostile_robots_rule_needs_no_more_than_linear_time() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /" + "*a" * 19 + "*b$\n")
    assert rules.allows("https://example.com/" + "a" * 2000)
    assert not rules.allows("https://example.com/" + "a" * 2000 + "b")


@pytest.mark.django_db
def test_rule_notifies_once_for_each_crossing(desk: Desk) -> None:
    channel = NotificationChannel.objects.create(user=desk.user, name="Mail", channel_type="email")
    page = desk.watch("/fares", title="Fares", price="60.00")
    desk.read()
    actions.set_channels(page.site, [channel.pk])
    with clock.set_to(desk.now):
        actions.change_site(page.site, {"notifies_changed": False})
    actions.add_rule(page.site, condition="price < 50")
    for price in ("49.00", "45.00", "55.00", "48.00"):
        desk.site.write("/fares", price=price)
        desk.read()
    assert PageEvent.objects.filter(kind="rule").count() == 2
    assert Delivery.objects.filter(source="pages").count() == 2
    assert "price < 50" in Delivery.objects.filter(source="pages").order_by("pk")[0].text


@pytest.mark.django_db
def test_rule_with_channels_of_its_own_notifies_only_these(desk: Desk) -> None:
    own, shared = (
        NotificationChannel.objects.create(user=desk.user, name=name, channel_type="email") for name in ("a", "b")
    )
    page = desk.watch("/fares", title="Fares", price="60.00")
    other = desk.watch("/piers", title="Piers", price="60.00")
    desk.read()
    site = page.site
    actions.set_channels(site, [shared.pk])
    with clock.set_to(desk.now):
        actions.change_site(site, {"notifies_changed": False})
    rule = actions.add_rule(site, condition="price < 50", page_id=page.pk, channel_ids=[own.pk])
    actions.add_rule(site, condition="price < 40")
    for path in ("/fares", "/piers"):
        desk.site.write(path, price="45.00")
    desk.read()
    (sent,) = Delivery.objects.filter(source="pages")
    assert (sent.channel_id, sent.subject) == (own.pk, f"{site.name}: price < 50, 1 page")
    assert (page.url in sent.text, other.url in sent.text) == (True, False)
    for path in ("/fares", "/piers"):
        desk.site.write(path, price="35.00")
    desk.read()
    newest = Delivery.objects.filter(source="pages").order_by("-pk")[0]
    assert newest.channel_id == shared.pk
    assert all(each.url in newest.text for each in (page, other))
    # Changed, it keeps what it recorded; without channels it notifies where the website does.
    actions.change_rule(rule, condition="price > 50", page_id=page.pk)
    assert rule.events.count() == 1
    desk.site.write("/fares", price="70.00")
    desk.read()
    assert Delivery.objects.filter(source="pages").order_by("-pk")[0].channel_id == shared.pk


@pytest.mark.django_db
def test_rule_of_one_page_is_made_on_its_page_and_changed(desk: Desk, alice: User, bob: User) -> None:
    channel = NotificationChannel.objects.create(user=alice, name="Mail", channel_type="email")
    foreign = NotificationChannel.objects.create(user=bob, name="Not mine", channel_type="email")
    page = desk.watch("/fares", title="Fares", price="60.00")
    desk.read()
    browser, path = client_of(alice), f"/pages/sites/{page.site_id}/rules/"
    assert f"{path}?page={page.pk}" in browser.get(f"/pages/{page.pk}/").text
    form = browser.get(f"{path}?page={page.pk}").text
    assert f'value="{page.pk}"' in form
    assert "Not mine" not in form
    given = {"kind": "notify", "condition": "price > 50", "page_id": page.pk, "channels": channel.pk}
    assert "1 of 1 stored pages" in browser.post(path, {**given, "step": "preview"}).text
    assert browser.post(path, {**given, "channels": foreign.pk}).status_code == 422
    browser.post(path, given)
    rule = SiteRule.objects.get()
    assert (rule.page_id, list(rule.channels.all())) == (page.pk, [channel])
    browser.post(f"{path}{rule.pk}/", {**given, "condition": "changed", "channels": []})
    rule.refresh_from_db()
    assert (rule.condition, rule.page_id, rule.channels.count()) == ("changed", page.pk, 0)
    api = f"/api/v1{path}{rule.pk}"
    body = {"condition": "title changed", "page_id": page.pk, "channel_ids": [str(channel.pk)]}
    assert browser.put(api, body, content_type="application/json").json()["channel_ids"] == [str(channel.pk)]
    assert client_of(bob).put(api, body, content_type="application/json").status_code == 404


@pytest.mark.django_db
def test_rule_is_previewed_added_and_deleted_on_its_page(desk: Desk, alice: User) -> None:
    page = desk.watch("/fares", title="Fares", price="60.00")
    desk.read()
    browser, path = client_of(alice), f"/pages/sites/{page.site_id}/rules/"
    assert "Fares" in browser.post(path, {"kind": "notify", "condition": "price > 50", "step": "preview"}).text
    assert SiteRule.objects.count() == 0
    assert browser.post(path, {"kind": "notify", "condition": "nonsense", "step": "add"}).status_code == 422
    browser.post(path, {"kind": "notify", "condition": "price > 50", "pattern": "/fares", "step": "add"})
    rule = SiteRule.objects.get()
    assert (
        client_of(alice).get(f"/api/v1/pages/sites/{page.site_id}/rules").json()["items"][0]["condition"]
        == "price > 50"
    )
    browser.post(f"{path}{rule.pk}/delete/")
    assert SiteRule.objects.count() == 0


@pytest.mark.django_db
def test_excluded_urls_are_counted_and_never_requested(desk: Desk) -> None:
    publish(desk, "/news/a", "/news/b", "/piers/1", "/piers/2?draft=1")
    site = desk.website()
    with clock.set_to(desk.now):
        actions.add_rule(site, kind="include", pattern="/piers/")
        actions.add_rule(site, kind="exclude", pattern="re:draft=")
    desk.cycle()
    publish(desk, "/news/c")
    desk.cycle()
    counts = completeness(site, desk.now)
    assert (counts["known"], counts["read"], counts["excluded"]) == (5, 1, 4)
    assert [desk.site.log.count(path) > 0 for path in ("/piers/1", "/news/a", "/news/b", "/news/c")] == [
        True, False, False, False,
    ]  # fmt: skip
    desk.site.remove("/news/a")
    desk.cycle()
    assert desk.page("/news/a").fate == ""
    assert desk.site.log.count("/news/a") == 0
    with clock.set_to(desk.now):
        for rule in SiteRule.objects.select_related("site"):
            actions.delete_rule(rule)
    desk.cycle()
    assert completeness(site, desk.now)["excluded"] == 0
    assert desk.site.log.count("/news/b") > 0


@pytest.mark.django_db
def test_ignored_part_makes_no_version_and_a_new_selector_no_change(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares", paragraphs=["A day ticket costs 3.90 EUR."], berths="See pier one.")
    desk.read()
    assert "See pier one." in desk.texts(page)[0]
    actions.add_rule(page.site, kind="ignore", condition=".berths")
    desk.read()
    desk.site.write("/fares", berths="See the moonlight cruise, too.")
    desk.read()
    second = desk.versions(page)[1]
    assert (second.is_restart, second.words_removed, second.changed_fields) == (True, 0, [])
    assert "pier one" not in desk.texts(page)[1]
    assert PageEvent.objects.count() == 0
    desk.site.write("/fares", paragraphs=["A day ticket costs 4.20 EUR."])
    desk.read()
    assert [version.is_restart for version in desk.versions(page)] == [False, True, False]
    assert [event.version for event in PageEvent.objects.all()] == [3]


@pytest.mark.django_db
def test_selector_that_matches_nothing_keeps_versions_and_says_so(desk: Desk) -> None:
    page = desk.watch("/fares", title="Fares", paragraphs=["A day ticket costs 3.90 EUR."], berths="See pier one.")
    actions.add_rule(page.site, kind="only", condition="article .berths", pattern="/fares")
    desk.read()
    assert desk.texts(page) == ["See pier one."]
    desk.site.write("/fares", berths="")
    desk.read()
    page.refresh_from_db()
    assert (page.version_count, page.error) == (1, "The selectors of your rules match nothing on this page.")


@pytest.mark.django_db
def test_rule_that_counts_pages_notifies_once_a_day(desk: Desk) -> None:
    publish(desk, "/products/0")
    site = desk.website()
    desk.cycle()
    rule = actions.add_rule(site, condition="more than 2 new under /products/")
    publish(desk, "/products/1", "/products/2", "/news/1", "/news/2")
    desk.cycle()
    assert PageEvent.objects.filter(kind="rule").count() == 0
    publish(desk, "/products/3")
    desk.cycle()
    publish(desk, "/products/4")
    desk.cycle()
    (event,) = PageEvent.objects.filter(kind="rule").select_related("page")
    assert event.rule == f"{rule} (3)"
    assert event.page.path == "/products/3"
    publish(desk, *(f"/products/5{n}" for n in range(3)))
    desk.cycle(after=timedelta(days=1))
    assert PageEvent.objects.filter(kind="rule").count() == 2


@pytest.mark.django_db
def test_each_kind_of_rule_is_previewed_on_what_is_stored(desk: Desk) -> None:
    publish(desk, "/news/a", "/news/b", "/piers/1", berths="See pier one.")
    site = desk.website()
    desk.cycle()
    path = f"/api/v1/pages/sites/{site.pk}/rules/preview"
    before = desk.site.log.count()

    def preview(**rule: str) -> tuple[int, int]:
        with clock.set_to(desk.now):
            found = client_of(desk.user).post(path, rule, content_type="application/json")
        assert found.status_code == 200, found.content
        return found.json()["count"], found.json()["tried"]

    assert preview(kind="exclude", pattern="/news/*") == (2, 3)
    assert preview(condition="text contains harbour", pattern="/piers/") == (1, 3)
    assert preview(condition="more than 1 new") == (0, 0)
    assert desk.site.log.count() == before
    with clock.set_to(desk.now):
        found = client_of(desk.user).post(path, {"kind": "only", "condition": ".berths"}, "application/json").json()
    assert found["text"] == "See pier one."
    assert desk.site.log.count() == before + 1
    assert sum(SiteDay.objects.values_list("requests", flat=True)) == desk.site.log.count() - desk.site.log.count(
        "/sitemap.xml"
    )
    assert not SiteRule.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("kind", {"kind": "hide", "condition": "changed"}),
        ("pattern", {"kind": "exclude"}),
        ("condition", {"kind": "exclude", "pattern": "/a", "condition": "changed"}),
        ("condition", {"kind": "ignore", "condition": "p >"}),
        ("condition", {"kind": "only"}),
        ("pattern", {"condition": "more than 5 new under /a", "pattern": "/b"}),
        ("pattern", {"condition": "changed", "pattern": "re:("}),
        ("page_id", {"condition": "changed", "page_id": 10**9}),
    ],
)
def test_rule_that_cannot_work_is_refused_by_name(desk: Desk, field: str, rule: dict[str, Any]) -> None:
    page = desk.watch("/fares")
    with pytest.raises(InvalidInput) as refused:
        actions.add_rule(page.site, **rule)
    assert refused.value.field == field
    if field == "page_id":
        for wrong in ({"kind": "ignore", "condition": "p"}, {"condition": "more than 5 new"}):
            with pytest.raises(InvalidInput):
                actions.add_rule(page.site, page_id=page.pk, **wrong)
