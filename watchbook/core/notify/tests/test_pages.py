"""Pages of channels: only one's own, nothing secret in any of them, and what each button does."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.notify import actions, channels, outbox
from watchbook.core.notify.message import title_of
from watchbook.core.notify.models import Delivery, NotificationChannel

from .conftest import SECRET

pytestmark = pytest.mark.django_db
EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def browser(alice):
    return client_of(alice)


@pytest.mark.parametrize("kind", ["telegram", "webhook"])
def test_times_of_the_quiet_hours_are_in_one_row(browser, kind):
    page = squeezed(browser.get(f"/channels/add/{kind}/").content.decode())
    row = page.partition('<div class="form-pair">')[2]
    assert row.index("Quiet hours from") < row.index("Quiet hours until") < row.index("</div></div>")
    assert ">until<" not in page


def test_new_webhook_shows_its_secret_once(browser, alice, hooks):
    fields = {"name": "n8n", "url": hooks.address("/hook"), "method": "PUT", "headers": "X-Room: 7", "digest": "hourly"}
    page = browser.post("/channels/add/webhook/", fields)
    channel = NotificationChannel.objects.get(user=alice)
    (secret,) = channels.read(channel)["secrets"]
    assert secret in page.content.decode()
    assert 'data-copy="secret"' in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert channel.digest == "hourly"
    assert channels.read(channel)["headers"] == {"X-Room": "7"}
    for address in ("/channels/", f"/channels/{channel.pk}/", f"/channels/{channel.pk}/edit/"):
        assert secret not in browser.get(address).content.decode()


def test_refused_form_says_what_is_wrong_and_keeps_what_was_typed(browser):
    fields = {"name": "inside", "url": "http://10.0.0.1/x", "method": "POST", "digest": "immediate"}
    page = browser.post("/channels/add/webhook/", fields)
    assert page.status_code == 200
    assert "private network" in page.content.decode()
    assert 'value="inside"' in page.content.decode()
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize("kind", ["email", "webhook", "apprise"])
def test_form_of_every_kind_opens(browser, kind):
    assert browser.get(f"/channels/add/{kind}/").status_code == 200


def test_unknown_kind_of_channel_is_not_found(browser):
    assert browser.get("/channels/add/pigeon/").status_code == 404


def test_editing_with_empty_secrets_keeps_them(browser, webhook, hooks):
    before = channels.read(webhook)
    shown = browser.get(f"/channels/{webhook.pk}/edit/").content.decode()
    assert "t0p-secret-value" not in shown
    assert "Authorization: ***" in shown
    fields = {"name": "renamed", "url": "", "method": "POST", "headers": "Authorization: ***", "digest": "daily"}
    assert browser.post(f"/channels/{webhook.pk}/edit/", fields).status_code == 302
    webhook.refresh_from_db()
    assert (webhook.name, webhook.digest, webhook.is_active) == ("renamed", "daily", False)
    assert channels.read(webhook) == before


def test_send_test_sends_once_and_shows_the_result(browser, webhook, hooks):
    hooks.plan("/hook", "500", "ok")
    page = browser.post(f"/channels/{webhook.pk}/test/", follow=True)
    assert "The endpoint returned HTTP 500." in page.content.decode()
    webhook.refresh_from_db()
    assert (webhook.last_test_success, webhook.last_test_at is not None) == (False, True)
    outbox.deliver_due()
    assert len(hooks.deliveries()) == 1, "a test is not tried again"

    page = browser.post(f"/channels/{webhook.pk}/test/", follow=True)
    assert "Test sent." in page.content.decode()
    webhook.refresh_from_db()
    assert webhook.last_test_success is True
    assert [came.json()["type"] for came in hooks.deliveries()] == ["notify.test", "notify.test"]
    assert hooks.deliveries()[0].is_signed_with(SECRET)


def test_test_button_has_a_limit(browser, webhook, hooks):
    for _ in range(actions.TESTS + 2):
        browser.post(f"/channels/{webhook.pk}/test/")
    assert len(hooks.deliveries()) == actions.TESTS


def test_delivery_that_was_given_up_can_be_resent(browser, webhook, hooks, notification, noon):
    hooks.plan("/hook", "400", "400", "ok")
    outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    delivery = Delivery.objects.get(channel=webhook)
    assert "Resend" in browser.get(f"/deliveries/{delivery.pk}/").content.decode()
    browser.post(f"/deliveries/{delivery.pk}/replay/")
    outbox.deliver_due()
    delivery.refresh_from_db()
    assert delivery.state == "sent"
    assert len(hooks.ids()) == 1


def test_selected_deliveries_are_resent_together(browser, alice, bob, webhook, notification):
    theirs = NotificationChannel.objects.create(user=bob, name="theirs", channel_type="email")
    for number in range(3):
        outbox.notify([webhook, theirs], notification(f"change:{number}"))
    pending = Delivery.objects.get(channel=webhook, event_id="change:2")
    Delivery.objects.exclude(pk=pending.pk).update(state="sent")
    assert 'action="/deliveries/replay/"' in squeezed(browser.get("/deliveries/").content.decode())

    given = {"pk": [*Delivery.objects.values_list("pk", flat=True), "x", "9" * 30], "next": "/deliveries/?state=sent"}
    answer = browser.post("/deliveries/replay/", given, follow=True)
    assert answer.redirect_chain == [("/deliveries/?state=sent", 302)]
    page = squeezed(answer.content.decode())
    assert "2 notifications queued." in page
    assert "1 was not resent: Only notifications that were sent, skipped or given up can be resent." in page
    assert {each.channel.name: each.state for each in Delivery.objects.select_related("channel")} == {
        webhook.name: "pending",
        theirs.name: "sent",
    }
    assert browser.post("/deliveries/replay/", {"next": "https://evil.example/"})["Location"] == "/deliveries/"


def test_new_secret_is_shown_once_and_logged_as_an_event(browser, webhook):
    page = browser.post(f"/channels/{webhook.pk}/secret/").content.decode()
    fresh = channels.read(NotificationChannel.objects.get(pk=webhook.pk))["secrets"][0]
    assert fresh in page
    assert fresh != SECRET
    event = AuditEvent.objects.get(event="channel.secret_rotated")
    assert fresh not in str(event.details)


def test_removing_asks_first_and_then_removes_everything(browser, webhook, notification):
    outbox.notify([webhook], notification())
    assert "1 pending notification" in browser.get(f"/channels/{webhook.pk}/delete/").content.decode()
    browser.post(f"/channels/{webhook.pk}/delete/")
    assert not NotificationChannel.objects.exists()
    assert not Delivery.objects.exists()


def test_only_the_owner_finds_a_channel_and_its_deliveries(matrix, webhook, hooks, notification):
    (delivery,) = outbox.notify([webhook], notification())
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


def test_operator_sees_counts_but_no_secret(operator, webhook, notification):
    outbox.notify([webhook], notification())
    page = client_of(operator).get("/channels/").content.decode()
    assert "This server" in page
    assert "hooks" not in page
    assert str(webhook.pk) not in page


def test_member_cannot_receive_server_alerts(browser, alice):
    fields = {"name": "x", "email": "alice@example.com", "digest": "immediate", "alert_level": "P0", "is_staff": "1"}
    browser.post("/channels/add/email/", fields)
    assert NotificationChannel.objects.get().alert_level == ""


def test_built_in_mail_channel_is_not_listed(browser, alice, notification):
    (delivery,) = outbox.notify_owner(alice, notification())
    assert str(delivery.channel_id) not in browser.get("/channels/").content.decode()
    assert browser.get(f"/channels/{delivery.channel_id}/").status_code == 404
    assert browser.get(f"/deliveries/{delivery.pk}/").status_code == 404


def test_names_and_notifications_are_text_on_every_page(browser, alice, webhook, hooks, notification):
    actions.update(webhook, name=EVIL)
    hooks.faults.on("/hook").answer(500, EVIL, {})
    (delivery,) = outbox.notify([webhook], notification(subject=EVIL, text=EVIL, link="javascript:alert(1)"))
    outbox.deliver_due()
    for address in ("/channels/", f"/channels/{webhook.pk}/", f"/channels/{webhook.pk}/edit/",
                    f"/channels/{webhook.pk}/delete/", f"/deliveries/{delivery.pk}/"):  # fmt: skip
        page = browser.get(address).content.decode()
        assert "<img src=x" not in page, address
        assert "javascript:" not in page, address


def test_no_page_has_inline_script_or_style(browser, webhook, hooks, notification):
    (delivery,) = outbox.notify([webhook], notification())
    outbox.deliver_due()
    for address in ("/channels/", "/channels/add/webhook/", f"/channels/{webhook.pk}/", f"/deliveries/{delivery.pk}/"):
        page = browser.get(address).content.decode()
        assert not re.search(r"<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=", page), address


def test_lists_need_the_same_queries_for_one_row_and_for_many(browser, alice, webhook, notification):
    outbox.notify([webhook], notification())
    counts = []
    for more in (0, 40):
        for n in range(more):
            actions.create(alice, name=f"m{n}", channel_type="email", given={"email": f"m{n}@example.com"})
            outbox.notify([webhook], notification(f"more:{n}"))
        for address in ("/channels/", f"/channels/{webhook.pk}/"):
            with CaptureQueriesContext(connection) as queries:
                assert browser.get(address).status_code == 200
            counts.append(len(queries))
    assert counts[:2] == counts[2:]
    assert max(counts) <= 11


def test_every_kind_of_notification_has_a_title_in_both_languages(browser, webhook, notification):
    """Every kind that the house and the systems tell of; the code word stands only where a program needs it."""
    told = {
        ("sitemaps", "changed"): ("Sitemap changed", "站点地图有变更"),
        ("search", "saved_search"): ("New match for a saved search", "已保存的搜索有新匹配"),
        ("alerts", "alert"): ("Alert", "告警"),
        ("notify", "digest"): ("Digest", "汇总"),
    }
    for number, (source, kind) in enumerate(told):
        outbox.notify([webhook], notification(event_id=f"words:{number}", source=source, kind=kind))
    page = browser.get(f"/channels/{webhook.pk}/").text
    chinese = browser.get(f"/channels/{webhook.pk}/", headers={"Accept-Language": "zh-hans"}).text
    for (source, kind), (english, words) in told.items():
        assert f'<span class="sub">{english}</span>' in page
        assert f'<span class="sub">{words}</span>' in chinese
        assert f"{source}.{kind}" not in page
    delivery = Delivery.objects.get(kind="changed")
    shown = squeezed(browser.get(f"/deliveries/{delivery.pk}/").text)
    assert "<dd>Sitemap changed</dd>" in shown
    assert '<dd class="mono">sitemaps.changed</dd>' in shown


def test_undeclared_kind_keeps_its_name():
    assert title_of("tides", "risen") == "tides.risen"


def test_kinds_of_the_server_and_of_sitemaps_have_words():
    assert title_of("notify", "test") == "Test notification"
    assert title_of("notify", "channel_failing") == "Deliveries failing"
    for kind in ("changed", "error", "recovered"):
        assert title_of("sitemaps", kind) != f"sitemaps.{kind}"
