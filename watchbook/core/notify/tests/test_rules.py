"""Rules: quiet hours by the owner's clock, frequency per item, paths, and what a rule would have sent."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.base import clock
from watchbook.core.notify import actions, outbox, rules
from watchbook.core.notify.models import Delivery, NotificationChannel, NotificationRule
from watchbook.core.notify.rules import Quiet, Rule, Subject, paths_of, preview

NIGHT = Quiet(time(22), time(7))


def at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "now", "end"),
    [
        ("Asia/Shanghai", "2026-03-02T14:00Z", "2026-03-02T23:00Z"),  # 22:00, until 07:00 of the next day
        ("Asia/Shanghai", "2026-03-02T22:59Z", "2026-03-02T23:00Z"),  # 06:59
        ("Asia/Shanghai", "2026-03-02T23:00Z", None),
        ("Asia/Shanghai", "2026-03-02T13:59Z", None),
        ("Europe/Berlin", "2026-03-28T23:00Z", "2026-03-29T05:00Z"),  # the night in which the clock is put forward
        ("Europe/Berlin", "2026-10-24T21:00Z", "2026-10-25T06:00Z"),  # and back
    ],
)
def test_quiet_hours_end_by_the_owners_clock(webhook, zone, now, end):
    webhook.user.time_zone = zone
    webhook.quiet_from, webhook.quiet_until = NIGHT.start, NIGHT.until
    assert rules.window_end(webhook, at(now)) == (at(end) if end else None)
    webhook.quiet_from = webhook.quiet_until = None
    assert rules.window_end(webhook, at(now), Rule(quiet=NIGHT)) == (at(end) if end else None)


@pytest.mark.django_db
def test_digest_that_would_end_in_quiet_hours_waits_for_their_end(webhook):
    webhook.user.time_zone = "UTC"
    rule = Rule(digest="hourly", quiet=Quiet(time(12), time(13, 30)))
    assert rules.window_end(webhook, at("2026-03-02T11:10Z"), rule) == at("2026-03-02T13:30Z")
    webhook.quiet_from, webhook.quiet_until = time(13, 30), time(15)
    assert rules.window_end(webhook, at("2026-03-02T11:10Z"), rule) == at("2026-03-02T15:00Z")


@pytest.mark.django_db
def test_notifications_of_the_night_are_one_message_and_urgent_ones_are_not_held(webhook, hooks, notification, noon):
    webhook.user.time_zone = "Asia/Shanghai"
    webhook.user.save()
    quiet = {"quiet_from": time(11), "quiet_until": time(14)}
    actions.update(webhook, **quiet)
    webhook.refresh_from_db()
    for number in range(3):
        outbox.notify([webhook], notification(f"change:{number}"))
    outbox.notify([webhook], notification("error:1", urgent=True))
    outbox.deliver_due(noon)
    assert [came.json()["event_id"] for came in hooks.deliveries()] == ["error:1"]
    outbox.deliver_due(noon + timedelta(hours=2))
    assert hooks.deliveries()[-1].json()["data"]["count"] == 3
    outbox.deliver_due(noon + timedelta(days=2))
    assert len(hooks.deliveries()) == 2


@pytest.mark.django_db
def test_item_has_a_frequency_of_its_own_and_a_change_moves_what_is_pending(alice, webhook, hooks, notification, noon):
    rules.store("monitor:7", Rule(digest="daily"))
    outbox.notify([webhook], notification("change:1", thread="monitor:7"))
    outbox.notify([webhook], notification("change:2", thread="monitor:8"))
    outbox.deliver_due(noon)
    assert [came.json()["event_id"] for came in hooks.deliveries()] == ["change:2"]
    actions.update(webhook, digest="hourly")  # not for the item that has its own
    assert Delivery.objects.get(event_id="change:1").next_at > noon + timedelta(hours=2)
    subject = Subject("monitor:7", "Ferry", "/", (), lambda rule, since: [])
    actions.set_rule(alice, subject, Rule(digest="immediate"))
    outbox.deliver_due(noon)
    assert [came.json()["event_id"] for came in hooks.deliveries()] == ["change:2", "change:1"]
    actions.set_rule(alice, subject, Rule())
    assert not NotificationRule.objects.exists()


@pytest.mark.django_db
def test_late_notification_of_an_immediate_channel_is_sent_and_does_not_hold_the_sender(
    webhook, hooks, notification, noon
):
    rules.store("monitor:7", Rule(digest="hourly"))
    outbox.notify([webhook], notification("change:1", thread="monitor:7"))
    outbox.deliver_due(noon + timedelta(hours=1))
    with clock.set_to(noon + timedelta(minutes=30)):  # its transaction committed late
        outbox.notify([webhook], notification("change:2", thread="monitor:7"))
    outbox.deliver_due(noon + timedelta(hours=1))
    outbox.deliver_due(noon + timedelta(hours=1, minutes=2))
    assert len(hooks.ids()) == 2


@pytest.mark.parametrize(
    ("only", "skip", "path", "is_admitted"),
    [
        ("", "", "/x", True),
        ("/news", "", "/news", True),
        ("/news", "", "/news/winter", True),
        ("/news/", "", "/newsletter", False),
        ("/news/*", "", "/news/winter", True),
        ("/news/*", "", "/tickets/", False),
        ("*.pdf", "", "/files/a.pdf", True),
        ("*.pdf", "", "/files/a.pdf.html", False),
        ("/a*b*c", "", "/axxbyyc", True),
        ("/a*b*c", "", "/axxcyyb", False),
        ("/news/*", "/news/archive", "/news/archive/1", False),
        ("", "/tag/*", "/tag/x", False),
        ("/新闻/*", "", "/%E6%96%B0%E9%97%BB/1", True),
    ],
)
def test_paths_admit_and_skip(only, skip, path, is_admitted):
    rule = Rule(only_paths=paths_of(only), skip_paths=paths_of(skip))
    assert rule.admits(f"https://ferry.example.com{path}?a=b") is is_admitted


@pytest.mark.parametrize(
    "text", ["news", "https://example.com/news", "/" + "a" * 300, "\n".join(f"/{n}" for n in range(60))]
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        paths_of(text)


@given(st.lists(st.sampled_from(["a", "b", "*"]), max_size=8), st.text("ab", max_size=12))
def test_patterns_match_as_a_slow_comparison_does(parts, path):
    import fnmatch

    pattern = "*" + "".join(parts)
    wanted = fnmatch.fnmatchcase("/" + path, pattern)
    assert Rule(only_paths=(pattern,)).admits(f"https://x.example/{path}") is wanted


@pytest.mark.django_db
def test_preview_counts_messages_and_not_events(alice, noon):
    alice.time_zone = "Asia/Shanghai"
    moments = [noon - timedelta(hours=hours) for hours in (1, 2, 3, 26, 27, 24 * 8)]

    def events(rule: Rule, since: datetime) -> list[datetime]:
        return [moment for moment in moments if moment >= since]

    subject = Subject("monitor:7", "Ferry", "/", (), events)
    with clock.set_to(noon):
        assert preview(subject, Rule(), alice) == 5
        assert preview(subject, Rule(digest="daily"), alice) == 1, "that of today is not sent yet"
        assert preview(subject, Rule(digest="weekly"), alice) <= 1
        assert preview(subject, Rule(quiet=Quiet(time(8), time(11, 30))), alice) == 2
        own = NotificationChannel(user=alice, digest="daily")
        assert preview(Subject("monitor:7", "Ferry", "/", (own,), events), Rule(), alice) == 1
