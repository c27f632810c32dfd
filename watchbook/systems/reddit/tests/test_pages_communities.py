"""The table of communities, one community, and who may see what."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.systems.reddit.models import CommunityCache, CommunityPool, PostRaw
from watchbook.systems.reddit.tests.conftest import START
from watchbook.systems.reddit.tests.pages import (
    boss,
    filled,
    make_communities,
    make_posts,
    names,
    reader,
    text_of,
    titles,
)

pytestmark = pytest.mark.django_db

__all__ = ["boss", "filled", "reader"]

PAGES = ("/reddit/", "/reddit/posts/", "/reddit/metrics/", "/reddit/r/webdev/")
OF_OPERATORS = ("/reddit/crawl/", "/reddit/pool/sample/", "/reddit/r/webdev/visit/", "/reddit/r/webdev/switch/")


class TestAccess:
    def test_users_read_and_anonymous_signs_in(self, filled, matrix):
        for path in (*PAGES, f"/reddit/posts/{filled}/"):
            statuses = matrix.statuses("GET", path)
            assert statuses == {"anonymous": 302, "alice": 200, "bob": 200, "charlie": 200, "operator": 200}, path

    def test_actions_require_operator(self, filled, matrix):
        for path in (*OF_OPERATORS, "/reddit/r/webdev/wish/"):
            statuses = matrix.statuses("POST", path)
            assert statuses == {"anonymous": 302, "alice": 403, "bob": 403, "charlie": 403, "operator": 302}, path
        assert matrix.statuses("GET", "/reddit/pool/")["alice"] == 403

    def test_users_see_no_operator_buttons(self, filled, reader, boss):
        for path in ("/reddit/", "/reddit/r/webdev/"):
            shown = reader.get(path).content.decode().split('id="main"')[1]
            # Posts can be saved to the library and marked as read by everybody.
            assert set(re.findall(r'method="post"\s+action="([^"]+)"', shown)) <= {"/stream/items/"}, path
            assert "/switch/" not in shown
            assert "formaction" not in shown
            assert b"/switch/" in boss.get(path).content, path


class TestCommunities:
    def test_row_shows_state_tier_and_priority(self, filled, scanner, reader):
        answer = reader.get("/reddit/")
        row = {each.row.community_name: each for each in answer.context["rows"]}["r/webdev"]
        assert (row.tier, row.priority, str(row.badge.text)) == ("Tier 3", "priority: medium", "Late")
        # Nothing is known of days before the first visit's reach; today has the four posts.
        assert row.trend[-1] == 4
        assert answer.context["stats"]["active"] == 2
        scanner.run("reddit.incremental")
        assert {str(each.badge.text) for each in reader.get("/reddit/").context["rows"]} == {"On time", "Quiet"}

    @pytest.mark.parametrize(
        ("order", "first"),
        [("", "r/made059"), ("name", "r/made000"), ("-name", "r/made059"), ("posts", "r/made000"), ("due", "r/made000"),
         ("last", "r/made000"), ("-last", "r/made001"), ("nonsense", "r/made059")],
    )  # fmt: skip
    def test_table_is_sorted_by_order_parameter(self, reader, order, first):
        make_communities(60)
        assert names(reader.get("/reddit/", {"order": order}))[0] == first

    def test_pages_contain_every_row_once(self, reader):
        make_communities(120)
        pages = [names(reader.get("/reddit/", {"page": n, "order": "last"})) for n in (1, 2, 3)]
        assert [len(page) for page in pages] == [50, 50, 20]
        assert len({name for page in pages for name in page}) == 120

    @pytest.mark.parametrize("page", ["0", "-1", "4", "9" * 30, "x", "\x00", "1e3", "٣"])
    def test_invalid_page_number_returns_404(self, reader, page):
        make_communities(120)
        assert reader.get("/reddit/", {"page": page}).status_code == 404

    def test_filters_select_communities(self, reader):
        make_communities(4)
        now = clock.now()
        change = CommunityCache.objects.filter
        change(community_name="r/made001").update(quality_tier="tier1", possible_gap=True)
        change(community_name="r/made002").update(is_active=False, inactive_reason="private")
        change(community_name="r/made003").update(next_due=now - timedelta(hours=3))
        CommunityPool.objects.filter(name="r/made000").update(categories=["Boats", "灯塔"])
        assert names(reader.get("/reddit/", {"tier": "tier1"})) == ["r/made001"]
        assert names(reader.get("/reddit/", {"state": "gap"})) == ["r/made001"]
        assert names(reader.get("/reddit/", {"state": "inactive"})) == ["r/made002"]
        assert names(reader.get("/reddit/", {"state": "overdue"})) == ["r/made003"]
        assert names(reader.get("/reddit/", {"q": "r/MADE003"})) == ["r/made003"]
        assert (
            names(reader.get("/reddit/", {"q": "boat"}))
            == names(reader.get("/reddit/", {"q": "灯塔"}))
            == ["r/made000"]
        )
        assert len(names(reader.get("/reddit/", {"state": "odd\x00", "tier": "tier9", "q": "\x00"}))) == 4
        assert "No matches" in text_of(reader.get("/reddit/", {"q": "zzz"}))

    def test_queries_do_not_grow_with_rows(self, reader):
        counts = []
        for more in (1, 49):
            known = CommunityCache.objects.count()
            CommunityCache.objects.bulk_create(
                CommunityCache(community_name=f"r/q{known + n}", covered_from=START) for n in range(more)
            )
            with CaptureQueriesContext(
                connection,
            ) as seen:
                assert reader.get("/reddit/").status_code == 200
            counts.append(len(seen))
        assert counts[0] == counts[1] <= 20

    def test_empty_page_explains_the_first_step(self, reader, boss):
        assert "An operator imports communities" in text_of(reader.get("/reddit/"))
        assert "Import sample" in text_of(boss.get("/reddit/"))


class TestCommunity:
    def test_community_page_explains_tier_and_lists_posts(self, filled, reader):
        answer = reader.get("/reddit/r/webdev/")
        text = text_of(answer)
        assert "Why this tier" in text
        assert [(tier_row.title, tier_row.is_here) for tier_row in answer.context["tier_rows"]] == [
            ("Tier 1", False), ("Tier 2", False), ("Tier 3", True),
        ]  # fmt: skip
        assert len(titles(answer)) == 4
        assert answer.context["charts"].posts is not None

    def test_other_case_redirects_to_canonical_url(self, filled, reader):
        answer = reader.get("/reddit/r/WebDev/")
        assert (answer.status_code, answer["Location"]) == (302, "/reddit/r/webdev/")

    @pytest.mark.parametrize("name", ["nowhere", "a%00b", "%00", "..", "x" * 300, "we%20b", "灯塔"])
    def test_unknown_community_returns_404(self, filled, reader, name):
        assert reader.get(f"/reddit/r/{name}/").status_code == 404

    def test_community_page_shows_gap_failure_and_inactivity(self, filled, reader):
        row = CommunityCache.objects.filter(community_name="r/webdev")
        row.update(possible_gap=True, gap_at=clock.now(), gap_count=2, failures_in_row=3, last_outcome="upstream")
        text = text_of(reader.get("/reddit/r/webdev/"))
        assert "The last listing ended before a known post" in text
        assert "The last 3 crawls failed: Reddit error (5xx)" in text
        row.update(is_active=False, inactive_reason="private")
        assert "Not crawled: Private" in text_of(reader.get("/reddit/r/webdev/"))

    def test_community_log_lists_new_posts(self, scanner, reader):
        scanner.add("webdev")
        scanner.world.post("webdev", "Old")
        scanner.crawl("webdev")
        scanner.wait(hours=2)
        scanner.world.post("webdev", "New")
        scanner.crawl("webdev")
        with clock.set_to(scanner.now):
            answer = reader.get("/reddit/r/webdev/")
        assert [entry.data["added"] for entry in answer.context["log"]] == [1]
        assert "1 new post" in text_of(answer)

    def test_queries_do_not_grow_with_posts(self, reader):
        make_communities(1)
        counts = []
        for count in (1, 60):
            PostRaw.objects.all().delete()
            make_posts(count)
            with clock.set_to(START), CaptureQueriesContext(connection) as seen:
                assert reader.get("/reddit/r/made000/").status_code == 200
            counts.append(len(seen))
        assert counts[0] == counts[1] <= 20


def test_card_offers_import_to_operators(reader, boss):
    assert "/reddit/pool/" in text_of(boss.get("/"))
    assert "/reddit/pool/" not in text_of(reader.get("/"))


def test_pages_are_translated_to_chinese(filled, alice):
    client = Client(headers={"Accept-Language": "zh-CN"})
    client.force_login(alice)
    for path, words in (
        ("/reddit/", "全部社区"),
        ("/reddit/metrics/", "请求预算与限制"),
        ("/reddit/r/webdev/", "等级说明"),
    ):
        assert words in text_of(client.get(path)), path
