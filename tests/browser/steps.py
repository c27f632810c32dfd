"""Steps that several tests take, each as a person takes them."""

from __future__ import annotations

from tests.browser.driver import Visitor


def add_mail(person: Visitor, name: str, address: str) -> None:
    """Ends on the page of the new channel."""
    person.go("/channels/add/email/")
    person.page.get_by_label("Name").fill(name)
    person.page.get_by_label("E-mail address").fill(address)
    person.press("Save")
    person.sees("Delivery log")


def add_webhook(person: Visitor, name: str, address: str) -> str:
    """Ends on the page of the new channel; gives the signing secret that was shown once."""
    person.go("/channels/add/webhook/")
    person.page.get_by_label("Name").fill(name)
    person.page.get_by_label("Address").fill(address)
    person.press("Save")
    secret = person.page.locator("#secret").inner_text()
    person.follow("Open channel")
    person.sees("Delivery log")
    return secret
