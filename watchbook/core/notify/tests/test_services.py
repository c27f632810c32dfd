"""Other services through Apprise: what may be entered, and that it arrives."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from watchbook.core.notify import actions, channels, outbox
from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.channels.apprise import HOSTED, PUBLIC
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "url", ["tgram://123456789:abcdefg_hijklmnop/12315544/", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnl"]
)
def test_public_services_are_taken(url):
    assert channels.check("apprise", {"url": url}) == {"url": url}


@pytest.mark.parametrize(
    "url",
    [
        "json://127.0.0.1:9/x", "xml://10.0.0.1/", "form://localhost/", "mailto://user:pass@10.0.0.1", "syslog://",
        "rsyslog://10.0.0.1", "dbus://", "file:///etc/passwd", "http://127.0.0.1/", "apprise://10.0.0.1/token",
        "jsons://internal.example.com/", "fcm://project@key/#topic?keyfile=/etc/passwd", "zulip://bot@org/token",
        "tgram://token/chat?redirect=yes", "tgram://token/chat?verify=no", "tgram://token/chat?retry=9",
        "slack://a/b/c?+X-Header=1", "tgram://a/b, json://127.0.0.1", "tgram://a/b\r\njson://x", "", "tgram:", "tgram://",
        "json://trusted.example.com:80\\@10.0.0.1/", "workflows://10.0.0.1/a/b/c",
    ],
)  # fmt: skip
def test_what_could_reach_inside_is_refused(url):
    with pytest.raises(BadConfig):
        channels.check("apprise", {"url": url})


@pytest.mark.parametrize("filler", ["/", "a", "(", "@", "?", "&x=1"])
def test_very_long_address_is_refused_quickly(filler):
    started = time.process_time()
    with pytest.raises(BadConfig):
        channels.check("apprise", {"url": "tgram://" + filler * 100_000})
    with pytest.raises(BadConfig):
        channels.check("webhook", {"url": "http://" + filler * 100_000})
    assert time.process_time() - started < 1


def test_every_listed_service_has_its_hosts_in_its_own_code():
    from apprise.manager_plugins import NotificationManager

    known = NotificationManager()
    for scheme in PUBLIC:
        plugin = known[scheme]
        assert plugin is not None, scheme
        assert not any("{host" in template for template in plugin.templates), scheme
    for scheme in HOSTED:
        assert any("{host" in template for template in known[scheme].templates), scheme


def test_trusted_host_is_reached_and_its_answers_are_judged(alice, hooks, notification, noon):
    given = {"url": f"json://{hooks.netloc}/notify"}
    channel = actions.create(alice, name="json", channel_type="apprise", given=given).channel
    assert hooks.netloc not in str(channel.config)
    hooks.plan("/notify", "500", "302:/elsewhere", "ok")
    outbox.notify([channel], notification(text="Three {{7*7}} new pages."))
    for hours in range(0, 6, 2):
        outbox.deliver_due(noon + timedelta(hours=hours))
    assert [came.request.path for came in hooks.deliveries()] == ["/notify"] * 3
    body = hooks.deliveries()[-1].json()
    assert body["title"] == "3 pages added"
    assert "Three {{7*7}} new pages." in body["message"]
    assert Delivery.objects.get().state == "sent"


def test_service_no_longer_trusted_is_not_reached(alice, hooks, notification, noon, monkeypatch):
    given = {"url": f"json://{hooks.netloc}/notify"}
    channel = actions.create(alice, name="json", channel_type="apprise", given=given).channel
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "")
    outbox.notify([channel], notification())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    assert hooks.deliveries() == []
    assert Delivery.objects.get(channel=channel).error_code == "service_refused"
