"""Pages of channels: only one's own, nothing secret in any of them, and what each button does."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.notify import actions, config, outbox
from watchbook.core.notify.kinds import title_of
from watchbook.core.notify.models import Delivery, NotificationChannel

from .conftest import SECRET

pytestmark = pytest.mark.django_db
EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def desk(alice):
    return client_of(alice)


def test_a_new_webhook_shows_its_secret_once(desk, alice, hooks):
    fields = {"name": "n8n", "url": hooks.address("/hook"), "method": "PUT", "headers": "X-Room: 7", "digest": "hourly"}
    page = desk.post("/channels/add/webhook/", fields)
    channel = NotificationChannel.objects.get(user=alice)
    (secret,) = config.read(channel)["secrets"]
    assert secret in page.content.decode()
    assert 'data-copy="secret"' in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert channel.digest == "hourly"
    assert config.read(channel)["headers"] == {"X-Room": "7"}
    for address in ("/channels/", f"/channels/{channel.pk}/", f"/channels/{channel.pk}/edit/"):
        assert secret not in desk.get(address).content.decode()


def test_a_refused_form_says_what_is_wrong_and_keeps_what_was_typed(desk):
    fields = {"name": "inside", "url": "http://10.0.0.1/x", "method": "POST", "digest": "immediate"}
    page = desk.post("/channels/add/webhook/", fields)
    assert page.status_code == 200
    assert "private network" in page.content.decode()
    assert 'value="inside"' in page.content.decode()
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize("kind", ["email", "webhook", "apprise"])
def test_the_form_of_every_kind_opens(desk, kind):
    assert desk.get(f"/channels/add/{kind}/").status_code == 200


def test_an_unknown_kind_is_not_there(desk):
    assert desk.get("/channels/add/pigeon/").status_code == 404


def test_editing_with_empty_secrets_keeps_them(desk, webhook, hooks):
    before = config.read(webhook)
    shown = desk.get(f"/channels/{webhook.pk}/edit/").content.decode()
    assert "t0p-secret-value" not in shown
    assert "Authorization: ***" in shown
    fields = {"name": "renamed", "url": "", "method": "POST", "headers": "Authorization: ***", "digest": "daily"}
    assert desk.post(f"/channels/{webhook.pk}/edit/", fields).status_code == 302
    webhook.refresh_from_db()
    assert (webhook.name, webhook.digest, webhook.is_active) == ("renamed", "daily", False)
    assert config.read(webhook) == before


def test_the_test_button_sends_once_and_says_what_happened(desk, webhook, hooks):
    hooks.plan("/hook", "500", "ok")
    page = desk.post(f"/channels/{webhook.pk}/test/", follow=True)
    assert "The receiver answered with status 500." in page.content.decode()
    webhook.refresh_from_db()
    assert (webhook.last_test_success, webhook.last_test_at is not None) == (False, True)
    outbox.deliver_due()
    assert len(hooks.deliveries()) == 1, "a test is not tried again"

    page = desk.post(f"/channels/{webhook.pk}/test/", follow=True)
    assert "was taken by the receiver" in page.content.decode()
    webhook.refresh_from_db()
    assert webhook.last_test_success is True
    assert [came.json()["type"] for came in hooks.deliveries()] == ["notify.test", "notify.test"]
    assert hooks.deliveries()[0].is_signed_with(SECRET)


def test_the_test_button_has_a_limit(desk, webhook, hooks):
    for _ in range(actions.TESTS + 2):
        desk.post(f"/channels/{webhook.pk}/test/")
    assert len(hooks.deliveries()) == actions.TESTS


def test_a_given_up_notice_is_sent_again_by_its_button(desk, webhook, hooks, notice, noon):
    hooks.plan("/hook", "400", "400", "ok")
    outbox.tell([webhook], notice())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    delivery = Delivery.objects.get(channel=webhook)
    assert "Send again" in desk.get(f"/deliveries/{delivery.pk}/").content.decode()
    desk.post(f"/deliveries/{delivery.pk}/replay/")
    outbox.deliver_due()
    delivery.refresh_from_db()
    assert delivery.state == "sent"
    assert len(hooks.ids()) == 1


def test_a_new_secret_is_shown_once_and_logged_as_an_event(desk, webhook):
    page = desk.post(f"/channels/{webhook.pk}/secret/").content.decode()
    fresh = config.read(NotificationChannel.objects.get(pk=webhook.pk))["secrets"][0]
    assert fresh in page
    assert fresh != SECRET
    event = AuditEvent.objects.get(event="channel.secret_rotated")
    assert fresh not in str(event.details)


def test_removing_asks_first_and_then_removes_everything(desk, webhook, notice):
    outbox.tell([webhook], notice())
    assert "1 notice" in desk.get(f"/channels/{webhook.pk}/delete/").content.decode()
    desk.post(f"/channels/{webhook.pk}/delete/")
    assert not NotificationChannel.objects.exists()
    assert not Delivery.objects.exists()


def test_only_the_owner_finds_a_channel_and_its_deliveries(matrix, webhook, hooks, notice):
    (delivery,) = outbox.tell([webhook], notice())
    for method, address in (
        ("GET", f"/channels/{webhook.pk}/"),
        ("GET", f"/channels/{webhook.pk}/edit/"),
        ("GET", f"/channels/{webhook.pk}/delete/"),
        ("GET", f"/deliveries/{delivery.pk}/"),
        ("POST", f"/channels/{webhook.pk}/edit/"),
        ("POST", f"/channels/{webhook.pk}/test/"),
        ("POST", f"/deliveries/{delivery.pk}/replay/"),
        ("POST", f"/channels/{webhook.pk}/secret/"),
        ("POST", f"/channels/{webhook.pk}/delete/"),
    ):
        found = matrix.statuses(method, address)
        assert found.pop("alice") in {200, 302}, address
        assert found.pop("anonymous") == 302, address
        assert set(found.values()) == {404}, address


def test_an_operator_sees_counts_but_no_secret(operator, webhook, notice):
    outbox.tell([webhook], notice())
    page = client_of(operator).get("/channels/").content.decode()
    assert "The whole installation" in page
    assert "hooks" not in page
    assert str(webhook.pk) not in page


def test_a_member_cannot_ask_for_alerts_of_the_installation(desk, alice):
    fields = {"name": "x", "email": "alice@example.com", "digest": "immediate", "alert_level": "P0", "is_staff": "1"}
    desk.post("/channels/add/email/", fields)
    assert NotificationChannel.objects.get().alert_level == ""


def test_the_houses_own_line_is_nobodys_channel(desk, alice, notice):
    (delivery,) = outbox.tell_owner(alice, notice())
    assert str(delivery.channel_id) not in desk.get("/channels/").content.decode()
    assert desk.get(f"/channels/{delivery.channel_id}/").status_code == 404
    assert desk.get(f"/deliveries/{delivery.pk}/").status_code == 404


def test_names_and_notices_are_text_on_every_page(desk, alice, webhook, hooks, notice):
    actions.update(webhook, name=EVIL)
    hooks.faults.on("/hook").answer(500, EVIL, {})
    (delivery,) = outbox.tell([webhook], notice(subject=EVIL, text=EVIL, link="javascript:alert(1)"))
    outbox.deliver_due()
    for address in ("/channels/", f"/channels/{webhook.pk}/", f"/channels/{webhook.pk}/edit/",
                    f"/channels/{webhook.pk}/delete/", f"/deliveries/{delivery.pk}/"):  # fmt: skip
        page = desk.get(address).content.decode()
        assert "<img src=x" not in page, address
        assert "javascript:" not in page, address


def test_no_page_has_inline_script_or_style(desk, webhook, hooks, notice):
    (delivery,) = outbox.tell([webhook], notice())
    outbox.deliver_due()
    for address in ("/channels/", "/channels/add/webhook/", f"/channels/{webhook.pk}/", f"/deliveries/{delivery.pk}/"):
        page = desk.get(address).content.decode()
        assert not re.search(r"<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=", page), address


def test_lists_need_the_same_queries_for_one_row_and_for_many(desk, alice, webhook, notice):
    outbox.tell([webhook], notice())
    counts = []
    for more in (0, 40):
        for n in range(more):
            actions.create(alice, name=f"m{n}", channel_type="email", given={"email": f"m{n}@example.com"})
            outbox.tell([webhook], notice(f"more:{n}"))
        for address in ("/channels/", f"/channels/{webhook.pk}/"):
            with CaptureQueriesContext(connection) as queries:
                assert desk.get(address).status_code == 200
            counts.append(len(queries))
    assert counts[:2] == counts[2:]
    assert max(counts) <= 10


def test_what_a_notice_tells_of_is_said_in_words(desk, webhook, notice):
    """Every kind that the house and the systems tell of; the code word stands only where a program needs it."""
    told = {
        ("sitemaps", "changed"): ("Sitemap changed", "站点地图有变更"),
        ("search", "saved_search"): ("New match of a saved search", "已存搜索有新匹配"),
        ("alerts", "alert"): ("Alert", "告警"),
        ("notify", "digest"): ("Digest of notices", "通知汇总"),
    }
    for number, (source, kind) in enumerate(told):
        outbox.tell([webhook], notice(event_id=f"words:{number}", source=source, kind=kind))
    page = desk.get(f"/channels/{webhook.pk}/").text
    chinese = desk.get(f"/channels/{webhook.pk}/", headers={"Accept-Language": "zh-hans"}).text
    for (source, kind), (english, words) in told.items():
        assert f'<span class="sub">{english}</span>' in page
        assert f'<span class="sub">{words}</span>' in chinese
        assert f"{source}.{kind}" not in page
    delivery = Delivery.objects.get(kind="changed")
    shown = desk.get(f"/deliveries/{delivery.pk}/").text
    assert "<dd>Sitemap changed</dd>" in shown
    assert '<dd class="mono">sitemaps.changed</dd>' in shown


def test_a_kind_that_nobody_declares_stands_for_itself():
    assert title_of("tides", "risen") == "tides.risen"


def test_the_kinds_of_the_house_and_of_sitemaps_have_words():
    assert title_of("notify", "test") == "Test"
    assert title_of("notify", "channel_trouble") == "Channel in trouble"
    for kind in ("changed", "error", "recovered"):
        assert title_of("sitemaps", kind) != f"sitemaps.{kind}"
