"""What a rule of notifications leaves out, what it would have sent, and the letter of a change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify import rules
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.rules import Rule
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.sitemaps import actions

pytestmark = pytest.mark.django_db


@pytest.fixture
def w(site, watch, alice):
    site.add("/a")
    made = watch()
    mail = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
    actions.set_channels(made.monitor, [mail.channel])
    made.check()
    return made


def change(site, w) -> None:
    for path in ("/news/winter", "/news/pier", "/tickets/day-pass"):
        site.add(path)
    w.check()


def soon_after(w):
    """The checks have a clock of their own."""
    return clock.set_to(w.monitor.change_records.latest("created_at").created_at + timedelta(hours=1))


def test_letter_has_sections_paths_and_the_number_of_each(site, w):
    change(site, w)
    delivery = Delivery.objects.get()
    assert delivery.subject == f"{w.monitor.name}: 3 new pages"
    sections = {each["title"]: [item["title"] for item in each["items"]] for each in delivery.content["sections"]}
    assert {name: sorted(titles) for name, titles in sections.items()} == {
        "News": ["/news/pier", "/news/winter"],
        "Tickets": ["/tickets/day-pass"],
    }
    assert site.page_url("/news/winter") in delivery.text
    assert delivery.content["button"]["url"].startswith("http")


@pytest.mark.parametrize(
    ("rule", "subject"),
    [
        (Rule(only_paths=("/news",)), "2 new pages"),
        (Rule(skip_paths=("/news/*",)), "1 new page"),
        (Rule(only_paths=("/elsewhere",)), ""),
        (Rule(minimum=3), "3 new pages"),
        (Rule(minimum=4), ""),
        (Rule(only_paths=("/news",), minimum=3), ""),
    ],
)
def test_rule_decides_what_is_notified_and_its_preview_agrees(site, w, alice, rule, subject):
    rules.store(w.monitor.thread, rule)
    change(site, w)
    assert [each.subject.rpartition(": ")[2] for each in Delivery.objects.all()] == ([subject] if subject else [])
    assert StreamEntry.objects.filter(kind="changed").count() == 1, "the inbox has every change"
    item = rules.subject_of(w.monitor.thread, alice)
    with soon_after(w):
        assert rules.preview(item, rule, alice) == (1 if subject else 0)


def test_page_and_api_set_a_rule_that_only_its_owner_sees(site, w, alice, bob):
    change(site, w)
    url = f"/channels/rules/{w.monitor.thread}/"
    browser = client_of(alice)
    with soon_after(w):
        assert "Would have sent <b>1</b> message" in browser.get(url).text
    fields = {
        "digest": "weekly",
        "minimum": "4",
        "only_paths": "/news/*\n/tickets",
        "quiet_from": "",
        "quiet_until": "",
    }
    assert "Would have sent <b>0</b> messages" in browser.post(url, fields | {"then": "preview"}).text
    assert rules.rule_of(w.monitor.thread) == rules.NONE, "a preview saves nothing"
    assert browser.post(url, fields).status_code == 302
    kept = Rule(digest="weekly", minimum=4, only_paths=("/news/*", "/tickets"))
    assert rules.rule_of(w.monitor.thread) == kept
    for wrong in ({"only_paths": "news"}, {"quiet_from": "22:00"}, {"minimum": "0"}, {"digest": "yearly"}):
        assert browser.post(url, fields | wrong).status_code == 200
    assert rules.rule_of(w.monitor.thread) == kept
    assert browser.get(f"/api/v1/notification-rules/{w.monitor.thread}").json()["minimum"] == 4
    stranger = client_of(bob)
    assert stranger.get(url).status_code == 404
    assert stranger.post(url, fields).status_code == 404
    assert stranger.get(f"/api/v1/notification-rules/{w.monitor.thread}").status_code == 404
    assert browser.get("/channels/rules/sitemaps.monitor:x/").status_code == 404
    assert browser.get("/channels/rules/saved-search:99999999999999999999/").status_code == 404
