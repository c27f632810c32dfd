"""From a changed sitemap to every receiver's own ledger, with receivers that misbehave in every way at once."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.db.models.functions import Coalesce, Greatest

from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify import http
from watchbook.core.notify.models import Attempt, Delivery, NotificationChannel
from watchbook.core.notify.outbox import deliver_due, result
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import NotificationLog
from watchbook.systems.sitemaps.tests.conftest import trust

pytestmark = pytest.mark.django_db

STEPS = (5, 300, 1800, 7200, 18000, 36000, 36000)
# path: what the receiver does, the seconds between its tries, how it ends
RECEIVERS = {
    "well": ((), (), "sent"),
    "fails": (("503",), STEPS, "failed"),
    "hangs": (("hang",), STEPS, "failed"),
    "resets": (("reset",), STEPS, "failed"),
    "gone": (("410",), (), "failed"),
    "throttles": (("429:30", "429:7200", "ok"), (30, 7200), "sent"),
    "stumbles": (("500", "500", "500", "ok"), STEPS[:3], "sent"),
}
NEEDS_ATTENTION = ("fails", "hangs", "resets", "gone")
DESK, OWNER = "desk@example.com", "alice@example.com"


@pytest.fixture
def hooks(site, monkeypatch):
    with WebhookSink() as sink:
        trust(monkeypatch, site.netloc, sink.netloc)
        # Real seconds, while all others are virtual.
        monkeypatch.setattr(http, "DEADLINE_SECONDS", 0.3)
        monkeypatch.setattr(result, "JITTER", 0.0)
        for name, (answers, _, _) in RECEIVERS.items():
            if answers:
                sink.plan(f"/{name}", *answers)
        yield sink


@pytest.fixture
def mails(settings):
    with SmtpSink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = sink.host, sink.port, 5
        # Taken, and the answer lost: nobody can know, so it comes a second time under the same name.
        sink.on(DESK, stage="end", first=1).lose()
        yield sink


@pytest.fixture
def channels(alice, hooks, mails):
    found = {
        name: channel_actions.create(alice, name=name, channel_type="webhook", given={"url": hooks.address(f"/{name}")})
        for name in RECEIVERS
    }
    found["mail"] = channel_actions.create(alice, name="mail", channel_type="email", given={"email": DESK})
    return {name: made.channel for name, made in found.items()}


def let_time_pass(now: datetime) -> datetime:
    """Deliver at every moment something is due, until nothing waits any more."""
    pending = Delivery.objects.filter(state="pending")
    # A channel that failed once more than planned, on a busy machine, is held back beyond the time of its delivery.
    held_until = Greatest("next_at", Coalesce("channel__blocked_until", "next_at"))
    while (waiting := pending.annotate(held_until=held_until).order_by("held_until").first()) is not None:
        assert waiting.held_until <= now + timedelta(days=2)
        now = max(now, waiting.held_until)
        deliver_due(now)
    return now


def gaps(hooks, name):
    """As the receiver saw them: by the signed moment of each try."""
    stamps = [int(came.headers.get("webhook-timestamp")) for came in hooks.deliveries(f"/{name}")]
    return tuple(later - earlier for earlier, later in pairwise(stamps))


def logged(record):
    rows = NotificationLog.objects.filter(change_record=record).select_related("channel")
    return {row.channel.name: row for row in rows}


@pytest.fixture
def story(site, watch, channels, hooks, mails):
    """A baseline, a change, and as much time as the worst receiver takes."""
    site.add_many(["/a", "/b"], lastmod="2026-01-01")
    w = watch()
    actions.set_channels(w.monitor, list(channels.values()))
    w.check()
    assert hooks.deliveries() == []
    site.add("/new", lastmod="2026-02-02")
    assert w.check()["changed"] == 1
    w.now = let_time_pass(w.now)
    return w


def test_every_endpoint_gets_its_notifications_once(story, site, hooks):
    told = logged(story.newest)
    assert {name: row.status for name, row in told.items()} == {
        "mail": "sent",
        **{name: fate for name, (_, _, fate) in RECEIVERS.items()},
    }
    for name, (_, wanted, _) in RECEIVERS.items():
        came = hooks.deliveries(f"/{name}")
        assert gaps(hooks, name) == wanted, name
        assert len(came) == told[name].retry_count + 1 == Attempt.objects.filter(delivery__channel__name=name).count()
        # Duplicates carry the same id and are the same to the byte.
        assert {(one.id, one.body) for one in came} == {(came[0].id, came[0].body)}, name
        assert came[0].json()["data"]["change"]["added"] == [{"url": site.page_url("/new"), "lastmod": "2026-02-02"}]
    codes = {name: row.response_code for name, row in told.items()}
    assert (codes["fails"], codes["gone"], codes["throttles"], codes["stumbles"]) == (503, 410, 200, 200)
    assert codes["hangs"] is codes["resets"] is None
    assert all(row.error_message for name, row in told.items() if name in NEEDS_ATTENTION)
    ids = Counter(one.id for one in {came.id: came for came in hooks.deliveries()}.values())
    assert len(ids) == len(RECEIVERS), "one id for each channel"


def test_owner_gets_one_mail_when_deliveries_fail_and_one_when_one_is_given_up(story, mails):
    let_time_pass(story.now)
    subjects = Counter(mail.subject for mail in mails.messages(to=OWNER))
    assert set(subjects) == {
        "Deliveries failing: fails", "Notification not delivered: fails",
        "Deliveries failing: hangs", "Notification not delivered: hangs",
        "Deliveries failing: resets", "Notification not delivered: resets",
        "Deliveries failing: stumbles", "Deliveries working again: stumbles",
        "Channel disabled: gone",
    }  # fmt: skip
    assert set(subjects.values()) == {1}


def test_mail_with_lost_response_is_resent_with_same_id(story, mails):
    copies = mails.messages(to=DESK)
    assert len(copies) == 2
    assert len({mail.message_id for mail in copies}) == 1


def test_gone_endpoint_is_disabled_and_others_get_the_next_change(story, site, hooks, mails, channels):
    off = NotificationChannel.objects.filter(is_active=False)
    assert [(channel.name, channel.disabled_reason) for channel in off] == [("gone", "gone")]
    hooks.faults.clear()
    told_before = len(mails.messages(to=OWNER))
    before = {name: len(hooks.deliveries(f"/{name}")) for name in RECEIVERS}
    site.remove("/a")
    assert story.check(after=timedelta(hours=2))["changed"] == 1
    let_time_pass(story.now)
    told = logged(story.newest)
    assert set(told) == set(channels) - {"gone"}
    assert {row.status for row in told.values()} == {"sent"}
    after = {name: len(hooks.deliveries(f"/{name}")) for name in RECEIVERS}
    assert after == {name: count + (name != "gone") for name, count in before.items()}
    again = {f"Deliveries working again: {name}" for name in ("fails", "hangs", "resets")}
    assert {mail.subject for mail in mails.messages(to=OWNER)[told_before:]} == again
    assert set(NotificationChannel.objects.filter(is_active=True).values_list("failure_count", flat=True)) == {0}
