"""No private address is reached, however it is spelt, through any form, endpoint or command.

Each refusal is a sentence, nothing is kept, no canary is touched, and the witness sees no connection at all.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import cache

from tests.security import bad_addresses as bad
from tests.security.attempts import SENTENCES, complaint, each, inward, known_ports, send, some
from watchbook.base.testing.people import client_of
from watchbook.base.web.address import MESSAGES as REASONS
from watchbook.core.notify import actions as channels
from watchbook.core.notify import channels as config
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.outbox import Notification, deliver_due, notify
from watchbook.project import cli
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.tests.conftest import Watch

pytestmark = pytest.mark.django_db

__all__ = ["inward", "known_ports"]

FORM = {"name": "x", "check_interval_minutes": 60}


def test_form_to_add_a_monitor_refuses_private_addresses(
    inward: dict[str, str], known_ports: list[int], alice: Any
) -> None:
    browser = client_of(alice)

    def attempt(url: str) -> str | None:
        cache.clear()  # looks are counted
        for step in ("check", "save"):
            if said := complaint(browser.post("/sitemaps/add/", {**FORM, "sitemap_url": url, "step": step}), 422):
                return f"{step} {said}"
        return None

    each(some(inward, "add"), attempt)
    assert not MonitorTask.objects.exists()


def test_form_to_change_a_monitor_refuses_private_addresses(
    inward: dict[str, str], known_ports: list[int], watch: Watch, alice: Any
) -> None:
    known_ports.append(watch.site.port)
    browser, before = client_of(alice), (watch.monitor.sitemap_url, watch.monitor.current_snapshot_id)
    path = f"/sitemaps/{watch.monitor.pk}/edit/"
    each(some(inward, "change"), lambda url: complaint(browser.post(path, {**FORM, "sitemap_url": url}), 422))
    monitor = MonitorTask.objects.get()
    assert (monitor.sitemap_url, monitor.current_snapshot_id) == before


def test_api_refuses_private_addresses_as_a_monitor(
    inward: dict[str, str], known_ports: list[int], watch: Watch, alice: Any
) -> None:
    known_ports.append(watch.site.port)
    browser, before = client_of(alice), watch.monitor.sitemap_url

    def attempt(url: str) -> str | None:
        body = {"name": "x", "sitemap_url": url}
        added = send(browser, "post", "/api/v1/sitemaps/monitors", body)
        moved = send(browser, "patch", f"/api/v1/sitemaps/monitors/{watch.monitor.pk}", body)
        for answer in (added, moved):
            error = answer.json().get("error", {})
            if answer.status_code != 422 or error.get("message") not in SENTENCES or error["code"] == "invalid":
                return f"answered {answer.status_code} {error}"
        return None

    each(inward, attempt)
    assert [monitor.sitemap_url for monitor in MonitorTask.objects.all()] == [before]


def test_command_refuses_private_addresses(
    inward: dict[str, str], known_ports: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    def attempt(url: str) -> str | None:
        with pytest.raises(SystemExit) as end:
            cli.run("sitemaps", "check", "--json", "--", url)
        error = json.loads(capsys.readouterr().out)["error"]
        return None if end.value.code == 1 and error["message"] in SENTENCES else f"{end.value.code} {error}"

    each({**inward, **{f"{number} (usual port)": url for number, url in bad.literal().items()}}, attempt)


def test_webhook_to_a_private_address_cannot_be_saved(
    inward: dict[str, str], known_ports: list[int], alice: Any
) -> None:
    browser = client_of(alice)
    given = {"url": "https://example.com/h"}
    good = channels.create(alice, name="good", channel_type="webhook", given=given).channel

    def attempt(url: str) -> str | None:
        body = {"name": "x", "channel_type": "webhook", "config": {"url": url}}
        made = send(browser, "post", "/api/v1/channels", body)
        changed = send(browser, "patch", f"/api/v1/channels/{good.pk}", {"config": {"url": url}})
        for answer in (made, changed):
            details = answer.json().get("error", {}).get("details") or [{}]
            if answer.status_code != 422 or details[0].get("message") not in SENTENCES:
                return f"answered {answer.status_code} {details}"
        return None

    def attempt_in_the_form(url: str) -> str | None:
        form = {"name": "x", "url": url, "method": "POST", "digest": "immediate"}
        return complaint(browser.post("/channels/add/webhook/", form), 200)

    # A name is taken here and refused when it is dialled: nobody is asked while somebody types.
    written = {number: url for number, url in inward.items() if number not in bad.NAMES}
    each(written, attempt)
    each(some(written, "webhook"), attempt_in_the_form)
    assert [channel.config["url"] for channel in NotificationChannel.objects.all()] == ["https://example.com/***"]


def test_saved_webhook_does_not_reach_a_private_address(
    inward: dict[str, str], known_ports: list[int], alice: Any, noon: Any
) -> None:
    """As if they had been saved when the rules were others, or as if the name had moved since."""
    browser = client_of(alice)
    given = {"url": "https://example.com/h"}
    channel = channels.create(alice, name="hook", channel_type="webhook", given=given).channel
    known = config.read(channel)

    def attempt(url: str) -> str | None:
        cache.clear()  # tests of a channel are counted
        NotificationChannel.objects.update(failure_count=0, blocked_until=None, is_active=True)
        Delivery.objects.all().delete()
        config.write(channel, {**known, "url": url})
        channel.save()
        tried = browser.post(f"/api/v1/channels/{channel.pk}/test").json()
        notify([channel], Notification(event_id="e", source="x", kind="y", subject="z"))
        deliver_due(noon)
        told = Delivery.objects.exclude(kind="test").get()
        if tried["success"] or tried["message"] not in SENTENCES:
            return f"the test said {tried}"
        if told.state == "sent" or told.last_error not in SENTENCES or told.last_body:
            return f"the delivery is {told.state}: {told.last_error!r}"
        return None

    each(inward, attempt)


def test_service_address_does_not_reach_a_private_address(
    inward: dict[str, str], known_ports: list[int], alice: Any
) -> None:
    browser = client_of(alice)

    def attempt(url: str) -> str | None:
        rest = url.strip().partition("://")[2]
        for service in (url, f"json://{rest}", f"tgram://x/y?webhook={url}"):
            body = {"name": "x", "channel_type": "apprise", "config": {"url": service}}
            answer = send(browser, "post", "/api/v1/channels", body)
            details = answer.json().get("error", {}).get("details") or [{}]
            if answer.status_code != 422 or not details[0].get("message"):
                return f"{service} answered {answer.status_code}"
        return None

    each(inward, attempt)
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "https://desk.example.com/hook", "https://DESK.example.com./hook", "https://desk.example.com:443/api/v1/channels",
        "http://desk.example.com/", "http://desk.example.com:80/x?y",
    ],
)  # fmt: skip
def test_webhook_to_this_server_is_refused(url: str, alice: Any, settings: Any) -> None:
    settings.PUBLIC_URL = "https://desk.example.com"
    body = {"name": "x", "channel_type": "webhook", "config": {"url": url}}
    answer = send(client_of(alice), "post", "/api/v1/channels", body)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["message"] == REASONS["own_address"]


def test_password_in_an_address_is_refused_and_not_shown(alice: Any, caplog: pytest.LogCaptureFixture) -> None:
    url = "https://bob:s3ntinel@example.com/"
    browser = client_of(alice)
    hook = send(browser, "post", "/api/v1/channels", {"name": "x", "channel_type": "webhook", "config": {"url": url}})
    monitor = send(browser, "post", "/api/v1/sitemaps/monitors", {"name": "x", "sitemap_url": url})
    assert (hook.status_code, monitor.status_code) == (422, 422)
    assert "s3ntinel" not in hook.content.decode() + monitor.content.decode() + caplog.text


@pytest.mark.parametrize("url", bad.POSITIVE)
def test_public_addresses_can_be_notified(url: str, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_EXTRA_PORTS", "8443")
    body = {"name": "x", "channel_type": "webhook", "config": {"url": url}}
    assert send(client_of(alice), "post", "/api/v1/channels", body).status_code == 201


@pytest.mark.parametrize("path", ["/@somebody/site@home.xml", "/a%20b.xml", "/moved.xml"])
def test_public_addresses_can_be_watched(path: str, site: Any, alice: Any) -> None:
    rule = site.faults.on(path)
    rule.redirect("/sitemap.xml", 308) if "moved" in path else rule.answer(200, site.press.file("/sitemap.xml").body)
    body = {"name": "x", "sitemap_url": site.address(path)}
    assert send(client_of(alice), "post", "/api/v1/sitemaps/monitors", body).status_code == 201
