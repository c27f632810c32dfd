"""Channels: added, tested, and what arrived at the other end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.driver import Visitor
from tests.browser.steps import add_mail, add_webhook
from tests.browser.world import NEWCOMERS, Desk, World

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TAKEN = "Test sent."


def delivery_states(person: Visitor) -> list[str]:
    return person.page.locator("td[data-label=State]").all_inner_texts()


def test_mail_channel_is_added_and_tested(desk: Desk, world: World, visitor: Callable[..., Visitor]) -> None:
    person = visitor(desk, NEWCOMERS["channel"])
    add_mail(person, "Morning desk", "morning@example.com")
    person.press("Send test")
    person.sees(TAKEN)
    assert delivery_states(person) == ["Sent"]
    (mail,) = world.mail.messages(to="morning@example.com")
    assert "Morning desk" in mail.text


def test_webhook_channel_is_added_and_signs_its_messages(
    desk: Desk, world: World, visitor: Callable[..., Visitor]
) -> None:
    person = visitor(desk, NEWCOMERS["channel"])
    secret = add_webhook(person, "Workshop", world.hooks.address("/workshop"))
    person.press("Send test")
    person.sees(TAKEN)
    (delivery,) = world.hooks.wait_for(1, "/workshop")
    assert delivery.is_signed_with(secret)
    assert not delivery.is_signed_with(secret[:-4] + "AAA=")

    person.page.locator("tbody a").click()
    person.sees("Message ID")
    assert delivery.id in person.page.locator("dd.mono").all_inner_texts()


def test_refused_delivery_is_shown_in_the_log(desk: Desk, world: World, visitor: Callable[..., Visitor]) -> None:
    world.hooks.plan("/refuses", "503")
    person = visitor(desk, NEWCOMERS["channel"])
    add_webhook(person, "Shut gate", world.hooks.address("/refuses"))
    person.press("Send test")
    person.sees("Test not sent")
    assert delivery_states(person) == ["Failed"]
    assert "503" in person.page.locator("td[data-label=Response]").inner_text()
