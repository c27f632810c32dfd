"""From an empty server to the first notification, a saved page and a colleague: what a stranger clicks, counted."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator

from standins.chat_services import TELEGRAM_TOKEN, ChatServices
from standins.push_service import PushService
from standins.sitemap_site import SitemapSite
from tests.browser.driver import Visitor
from tests.browser.world import PASSWORD, Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

MOST_CLICKS = 11
WAIT_SECONDS = 30
# A browser gets its address from a push service on the internet; here from the one of the test.
SUBSCRIBE = """(given) => {
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  PushManager.prototype.getSubscription = async () => null;
  PushManager.prototype.subscribe = async () =>
    ({ endpoint: given.endpoint, getKey: (name) => bytes(given[name]).buffer });
}"""


class Stranger:
    """Knows no address and no word of the product: follows what stands on the page, and counts clicks."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.main = visitor.page.locator("#main")
        self.clicks = 0

    def click(self, target: Locator | str) -> None:
        found = self.main.locator(target).first if isinstance(target, str) else target
        found.click()
        self.clicks += 1

    def fill(self, **values: str) -> None:
        for name, value in values.items():
            self.page.locator(f"#main [name={name}], main [name={name}]").first.fill(value)


@pytest.fixture
def shop() -> Iterator[SitemapSite]:
    with SitemapSite() as site:
        site.add_many([f"/lanterns/{number:02}" for number in range(12)], lastmod="2026-11-10")
        yield site


@pytest.fixture
def chat() -> Iterator[ChatServices]:
    with ChatServices() as made:
        yield made


@pytest.fixture
def push() -> Iterator[PushService]:
    with PushService() as made:
        yield made


@pytest.fixture
def empty_server(world: World, shop: SitemapSite, chat: ChatServices, push: PushService) -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="watchbook-stranger-") as folder:
        made = Desk(Path(folder), world)
        hosts = (world.hosts, shop.netloc, chat.netloc, push.netloc)
        made.settings["WATCHBOOK_TRUSTED_HOSTS"] = ",".join(hosts)
        with made.running():
            yield made


def until(something: Callable[[], Any], words: str) -> Any:
    end = time.monotonic() + WAIT_SECONDS
    while not (found := something()):
        assert time.monotonic() < end, words
        time.sleep(0.1)
    return found


CASES = [
    (1280, "en-GB"),
    pytest.param(390, "zh-CN"),
    pytest.param(390, "en-GB", marks=pytest.mark.nightly),
    pytest.param(1280, "zh-CN", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("width", "locale"), CASES)
def test_stranger_gets_a_notification_saves_it_and_invites_a_colleague(
    empty_server: Desk, world: World, shop: SitemapSite, chat: ChatServices, push: PushService,
    visitor: Callable[..., Visitor], width: int, locale: str,
) -> None:  # fmt: skip
    person = visitor(empty_server, width=width, locale=locale, permissions=["notifications"])
    person.context.add_init_script(f"({SUBSCRIBE})({push.subscribe()!r})")
    stranger = Stranger(person)
    sign_up(stranger)
    watch_new_pages(stranger, shop, chat)
    until(lambda: monitor_of(person)["last_success_at"], "no first check")
    shop.add("/lanterns/paper", lastmod="2026-11-18T06:00:00Z")
    stranger.click("form[action$='/check/'] button")
    message = until(lambda: chat.messages["telegram"][1:], "no message in Telegram")[0]
    until(lambda: push.shown[1:], "no push message")
    print(f"{width} px, {locale}: {stranger.clicks} clicks to the first notification")
    assert stranger.clicks <= MOST_CLICKS
    assert (message["chat_id"], "/lanterns/paper" in message["text"]) == ("42", True)
    save(stranger, message["text"])
    invite(stranger, world, visitor, empty_server, f"nora{width}{locale[:2]}@example.com")
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def monitor_of(person: Visitor) -> Any:
    return person.context.request.get(f"{person.url}/api/v1/sitemaps/monitors").json()["items"][0]


def sign_up(stranger: Stranger) -> None:
    stranger.visitor.go("/")
    stranger.fill(email="olive@example.com", password1=PASSWORD, password2=PASSWORD)
    stranger.click(stranger.page.locator("main form button").first)
    stranger.page.wait_for_url(stranger.visitor.url + "/")


def watch_new_pages(stranger: Stranger, shop: SitemapSite, chat: ChatServices) -> None:
    stranger.fill(text=shop.url)
    stranger.click("form.paste button")
    # Home has a link to the channels as well.
    stranger.page.wait_for_url(re.compile("/add/$"))
    stranger.click("a[href*='/channels/add/']")
    stranger.click(".tile[href*=telegram]")
    chat.updates = [{"message": {"date": 1, "chat": {"id": 42, "type": "private", "first_name": "Olive"}}}]
    stranger.fill(server=chat.url, token=TELEGRAM_TOKEN, name="Phone")
    stranger.main.locator("[name=chat_id][value='42']:checked").wait_for()
    stranger.click("button[name=then][value=test]")
    stranger.main.locator("[name=channel]").first.wait_for()
    assert len(chat.messages["telegram"]) == 1, "the test message"
    stranger.click("a[href*='/channels/add/']")
    stranger.click(".tile[href*=push]")
    stranger.click("[data-push-start]")
    stranger.main.locator("[name=channel]").nth(1).wait_for()
    assert stranger.main.locator("[name=channel]:checked").count() == 2
    stranger.click("[name=notify][value=changed]")
    stranger.click("button[form=choose]")
    stranger.page.wait_for_url(re.compile("/sitemaps/"))


def save(stranger: Stranger, text: str) -> None:
    """Open the link of the message and save what it leads to."""
    found = re.search(re.escape(stranger.visitor.url) + r"[^\"<\s]+", text)
    assert found, text
    stranger.visitor.go(found[0])
    stranger.click("a[href*='/library/clip']")
    stranger.click("form button[type=submit], form .btn--primary")
    stranger.page.wait_for_url(re.compile("/library/pages/"))
    assert "/lanterns/paper" in stranger.main.inner_text()


def invite(stranger: Stranger, world: World, visitor: Callable[..., Visitor], desk: Desk, email: str) -> None:
    stranger.visitor.go("/people/")
    stranger.page.locator("#invite [name=email]").fill(email)
    stranger.click("#invite button[type=submit], #invite .btn--primary")
    link = world.link_for(email, f"{desk.url}/invite/")
    nora = visitor(desk)
    nora.go(link)
    nora.page.locator("[name=password1]").fill(PASSWORD)
    nora.page.locator("[name=password2]").fill(PASSWORD)
    nora.page.locator("main form .btn--primary").first.click()
    nora.page.wait_for_url(desk.url + "/")
