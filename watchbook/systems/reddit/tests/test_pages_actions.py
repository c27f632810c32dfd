"""What operators do on the pages: switch, visit, crawl, wish, load a pool."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs.models import JobRun
from watchbook.systems.reddit.models import CommunityCache, CommunityPool
from watchbook.systems.reddit.tests.pages import boss, filled, text_of

pytestmark = pytest.mark.django_db

__all__ = ["boss", "filled"]

PAGES = ("/reddit/", "/reddit/posts/", "/reddit/metrics/", "/reddit/r/webdev/")


class TestActions:
    def test_community_is_disabled_and_enabled(self, filled, boss):
        answer = boss.post("/reddit/r/webdev/switch/", {"next": "/reddit/?page=1"}, follow=True)
        assert answer.redirect_chain[0][0] == "/reddit/?page=1"
        assert "r/webdev disabled. It is no longer crawled." in text_of(answer)
        assert not CommunityCache.objects.get(community_name="r/webdev").is_active
        boss.post("/reddit/r/webdev/switch/", {"on": "1"})
        assert CommunityCache.objects.get(community_name="r/webdev").is_active
        assert AuditEvent.objects.filter(event="reddit.switched").count() == 2

    @pytest.mark.parametrize("back", ["https://example.com/", "//example.com/reddit/", "/reddit/\n", "javascript:x"])
    def test_redirect_stays_on_reddit_pages(self, filled, boss, back):
        assert boss.post("/reddit/r/webdev/switch/", {"next": back})["Location"] == "/reddit/r/webdev/"

    def test_community_crawl_is_queued_once(self, filled, boss):
        assert "Queued." in text_of(boss.post("/reddit/r/webdev/visit/", follow=True))
        assert "Already queued or running." in text_of(boss.post("/reddit/r/webdev/visit/", follow=True))
        run = JobRun.objects.live().get(name="reddit.community")
        assert (run.args, run.requested_by.is_staff) == ({"community": "r/webdev"}, True)

    def test_due_crawl_is_queued_once(self, filled, boss):
        assert "Queued." in text_of(boss.post("/reddit/crawl/", follow=True))
        boss.post("/reddit/crawl/")
        assert JobRun.objects.live().filter(name="reddit.incremental").count() == 1
        assert 'id="work"' in text_of(boss.get("/reddit/live/", headers={"HX-Request": "true"}))

    def test_missing_credentials_are_shown_on_every_page(self, filled, boss, monkeypatch):
        monkeypatch.delenv("REDDIT_CLIENT_ID")
        answer = boss.post("/reddit/crawl/", follow=True)
        assert "Reddit access is not set up." in text_of(answer)
        assert not JobRun.objects.live().exists()
        for path in PAGES:
            assert "no credentials are set" in text_of(boss.get(path)), path

    def test_priority_is_saved_and_checked(self, filled, boss):
        assert "at least every 2 hours" in text_of(boss.post("/reddit/r/webdev/wish/", {"tier": "high"}, follow=True))
        assert CommunityPool.objects.get(name="r/webdev").tier == "high"
        wrong = boss.post("/reddit/r/webdev/wish/", {"tier": "\x00"}, follow=True)
        assert "Choose high, medium or low." in text_of(wrong)
        assert AuditEvent.objects.filter(event="reddit.wished").count() == 1


class TestImport:
    def load(self, boss, name, data, **given):
        file = SimpleUploadedFile(name, data if isinstance(data, bytes) else data.encode())
        return boss.post("/reddit/pool/", {"file": file}, **given)

    def test_import_accepts_json_and_csv(self, boss):
        pool = json.dumps([{"name": "webdev", "tier": "high"}, "r/golang"])
        assert "2 communities added, 0 updated, 2 in total" in text_of(self.load(boss, "a.json", pool, follow=True))
        csv = "name,tier,categories\nwebdev,low,web;work\nsailing,,\n"
        assert "1 communities added, 1 updated, 3 in total" in text_of(self.load(boss, "b.CSV", csv, follow=True))
        assert CommunityPool.objects.get(name="r/webdev").categories == ["web", "work"]
        assert CommunityCache.objects.count() == 3
        event = AuditEvent.objects.filter(event="reddit.pool_loaded").latest("pk")
        assert (event.subject, event.actor_email) == ("b.CSV", "operator@example.com")

    @pytest.mark.parametrize(
        ("name", "data", "says"),
        [("a.txt", "webdev", "Choose a .json or .csv file."), ("a.json", "{", "The file is not JSON."),
         ("a.json", b"\xff\xfe", "The file is not UTF-8."), ("a.json", "", "The submitted file is empty"),
         ("a.json", "[]", "contains no communities"), ("a.csv", "tier\nhigh\n", "including name"),
         ("a.json", '["a\\u0000b"]', "is not a community name"),
         ("a.json", '[{"name":"webdev","tier":"top"}]', "expected high, medium or low"),
         ("a.csv", "name\nweb dev\n", "Line 2: ")],
    )  # fmt: skip
    def test_invalid_file_is_refused_and_nothing_is_saved(self, boss, name, data, says):
        answer = self.load(boss, name, data)
        assert (answer.status_code, says in text_of(answer)) == (422, True)
        assert not CommunityPool.objects.exists()

    def test_import_without_file_is_refused(self, boss):
        assert boss.post("/reddit/pool/").status_code == 422

    def test_sample_is_imported(self, boss):
        assert "200 communities added" in text_of(boss.post("/reddit/pool/sample/", follow=True))
        assert CommunityCache.objects.active().count() == 200
