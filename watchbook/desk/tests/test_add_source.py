"""Add source: the field on Home, the page and the API, from a pasted text to a watched source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from standins.server import Answer, Site
from standins.sitemap_site import SitemapSite
from watchbook.base.testing.people import bob, client_of  # noqa: F401 - fixture
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions as channel_actions
from watchbook.core.search.models import SavedSearch
from watchbook.core.sources import recognise
from watchbook.systems.sitemaps.models import MonitorTask

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[SitemapSite]:
    with SitemapSite() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        made.add_many(["/lamps/1", "/lamps/2"], lastmod="2026-11-10")
        yield made


def check(user: User, text: str, **more: str) -> Any:
    return client_of(user).post("/add/", {"step": "check", "text": text, **more})


def proof_in(answer: Any) -> str:
    found = re.search(r'name="proof"\s+value="([^"]+)"', answer.text)
    assert found is not None
    return found[1]


def recognised(user: User, text: str, **more: str) -> Any:
    given = {"text": text, **more}
    return client_of(user).post("/api/v1/sources/recognise", given, content_type="application/json")


def add(user: User, **body: Any) -> Any:
    return client_of(user).post("/api/v1/sources", body, content_type="application/json")


def test_home_menu_and_keys_lead_to_the_field(alice: User) -> None:
    home = client_of(alice).get("/").text
    assert 'action="/add/"' in home
    assert home.count('href="/add/"') >= 2
    assert 'data-key="a"' in home
    shown = client_of(alice).get("/add/?q=example.com").text
    assert 'value="example.com"' in shown
    assert "xiaohongshu.com/explore/" in shown


def test_website_is_checked_and_added_from_the_page(site: SitemapSite, alice: User) -> None:
    mail = channel_actions.create(alice, name="Mail", channel_type="email", given={"email": "a@example.com"}).channel
    found = check(alice, site.url)
    assert "/lamps/1" in found.text
    assert not MonitorTask.objects.exists()
    asked = len(site.log.all())
    assert re.search(rf'name="channel"\s+value="{mail.pk}"\s+checked', found.text)
    choice = {"proof": proof_in(found), "text": site.url, "pick": site.sitemap, "frequency": "360"}
    cost = client_of(alice).post("/add/", {**choice, "step": "cost"})
    assert "<b>4</b>" in cost.text
    answer = client_of(alice).post("/add/", {**choice, "step": "add", "notify": ["new"], "channel": [str(mail.pk)]})
    monitor = MonitorTask.objects.get()
    assert answer.headers["Location"] == f"/sitemaps/{monitor.pk}/"
    assert (monitor.user, monitor.check_interval_minutes, list(monitor.channels.all())) == (alice, 360, [mail])
    assert (monitor.tell_added, monitor.tell_modified, monitor.tell_removals) == (True, False, False)
    assert len(site.log.all()) == asked
    again = check(alice, site.url).text
    assert "You already watch everything that was found here." in again
    assert f"/sitemaps/{monitor.pk}/" in again


def test_website_without_lists_offers_other_readings(monkeypatch: pytest.MonkeyPatch, alice: User) -> None:
    with Site() as bare:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", bare.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        bare.route("/", lambda _request: Answer(200, b"<p>Lamps</p>", content_type="text/html"))
        shown = check(alice, bare.url).text
        notice = shown[shown.index("No sitemap and no feed was found") :]
        assert notice.index('name="system" value="pages"') < notice.index("What you can paste")
        page = check(alice, bare.url, system="pages").text
    assert 'name="proof"' in page


def test_proof_of_another_user_is_not_accepted(site: SitemapSite, alice: User, bob: User) -> None:  # noqa: F811
    choice = {"step": "add", "proof": proof_in(check(alice, site.url)), "text": site.url, "pick": site.sitemap}
    answer = client_of(bob).post("/add/", choice)
    assert (answer.status_code, "The preview has expired" in answer.text) == (422, True)
    assert not MonitorTask.objects.exists()


def test_nothing_is_requested_by_get_or_without_csrf_token(site: SitemapSite, alice: User) -> None:
    client_of(alice).get("/add/", {"q": site.url, "step": "check", "text": site.url})
    assert client_of(alice, csrf=True).post("/add/", {"text": site.url}).status_code == 403
    assert site.log.all() == []


def test_refused_text_says_why_and_sends_no_request(alice: User) -> None:
    answer = check(alice, "https://www.reddit.com/user/somebody")
    assert answer.status_code == 422
    assert "Watchbook crawls communities, not users." in answer.text
    assert "Watchbook sent no request." in answer.text


def test_keyword_is_a_saved_search_that_exists_once(alice: User) -> None:
    found = recognised(alice, "paper lantern").json()
    assert (found["kind"], found["requests_made"], found["notify"]) == ("keyword", 0, ["new"])
    assert add(alice, proof=found["proof"]).status_code == 201
    assert SavedSearch.objects.get().query == "paper lantern"
    again = add(alice, text="paper lantern")
    assert (again.status_code, again.json()["error"]["details"]) == (409, {"url": "/search/?q=paper+lantern"})


def test_api_recognises_and_adds_a_website(site: SitemapSite, alice: User) -> None:
    found = recognised(alice, site.url).json()
    assert found["kind"] == "website"
    assert [pick["value"] for pick in found["picks"]] == [site.sitemap]
    assert (found["requests_per_day"], found["can_add"], found["check_interval_minutes"]) == (24, True, 60)
    assert found["requests_made"] == len(site.log.all()) <= recognise.MOST_REQUESTS
    assert [other["system"] for other in found["others"]] == ["pages", "search"]
    made = add(alice, proof=found["proof"], check_interval_minutes=15, notify=["removed"], name="Lamps")
    assert made.json() == {"items": [{"kind": "sitemap", "title": "Lamps", "url": made.json()["items"][0]["url"]}]}
    assert MonitorTask.objects.get().tell_removals


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": "http://10.0.0.1/"}, 422, "private_address"),
        ({"text": "https://bbs.nga.cn/thread.php?fid=7"}, 403, "not_allowed"),
        ({"text": "r/gardening"}, 403, "not_allowed"),
        ({"text": "https://www.xiaohongshu.com/explore/66f0c1d2"}, 403, "not_allowed"),
        ({"text": "paper lantern", "picks": ["other"]}, 422, "invalid"),
        ({"text": "paper lantern", "notify": ["sometimes"]}, 422, "invalid"),
        ({"text": "paper lantern", "channel_ids": ["6f9619ff-8b86-4d01-b42d-00cf4fc964ff"]}, 422, "invalid"),
        ({"proof": "made up"}, 422, "expired"),
        ({"text": "paper lantern", "colour": "red"}, 422, "unknown_field"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_may_not_be_added_is_refused(alice: User, body: dict[str, Any], status: int, code: str) -> None:
    answer = add(alice, **body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not SavedSearch.objects.exists()


def test_anonymous_user_recognises_nothing() -> None:
    assert client_of().post("/api/v1/sources/recognise", {"text": "x"}).status_code == 401
    assert client_of().get("/add/").status_code == 302


def test_previews_are_limited_per_user(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognise, "PREVIEWS", 1)
    assert recognised(alice, "lantern").status_code == 200
    assert recognised(alice, "lantern").status_code == 429
