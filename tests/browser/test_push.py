"""Push in a real Chromium: the service worker shows a message, stores no page, and is gone after signing out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.driver import Visitor
from tests.browser.world import NEWCOMERS, Desk

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

REGISTER = """async () => {
  await navigator.serviceWorker.register('/sw.js', { scope: '/' });
  await navigator.serviceWorker.ready;
}"""
SHOWN = """async () => {
  const worker = await navigator.serviceWorker.ready;
  const found = await worker.getNotifications();
  return found.map((each) => [each.title, each.body, each.tag, each.data.url]);
}"""
MESSAGE = {"title": "Ferry: 2 new pages", "body": "+ 冬季航线", "url": "/channels/", "tag": "monitor-7", "at": 1}


def deliver(person: Visitor, message: object) -> None:
    """Give the browser a message as its push service would."""
    session = person.context.new_cdp_session(person.page)
    registrations: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(each["registrationId"] for each in event["registrations"]),
    )
    session.send("ServiceWorker.enable")
    while not registrations:
        person.page.wait_for_timeout(50)
    session.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": person.url, "registrationId": registrations[-1], "data": json.dumps(message)},
    )


def test_worker_shows_a_message_stores_nothing_and_is_gone_after_signing_out(desk: Desk, whole_chromium: Any) -> None:
    # A new sign-in: this one ends here, and others use the stored one.
    person = Visitor(whole_chromium, desk.url, permissions=["notifications"])
    person.sign_in(NEWCOMERS["channel"])
    person.go("/channels/add/push/")
    person.sees("Enable on this device")
    person.page.evaluate(REGISTER)
    deliver(person, MESSAGE)
    deliver(person, MESSAGE | {"title": "Ferry: 5 new pages"})
    wanted = [["Ferry: 5 new pages", MESSAGE["body"], MESSAGE["tag"], MESSAGE["url"]]]
    for _ in range(100):
        if person.page.evaluate(SHOWN) == wanted:
            break
        person.page.wait_for_timeout(50)
    assert person.page.evaluate(SHOWN) == wanted, "the newer one replaces the older one"

    person.go("/channels/")
    assert person.page.evaluate("async () => (await caches.keys()).length") == 0

    person.go("/accounts/logout/")
    if "/accounts/logout/" in person.page.url:
        person.page.locator("main button").first.click()
    person.go("/accounts/login/")
    count = "async () => (await navigator.serviceWorker.getRegistrations()).length"
    for _ in range(100):
        if person.page.evaluate(count) == 0:
            break
        person.page.wait_for_timeout(50)
    assert person.page.evaluate(count) == 0
    assert person.complaints == []
