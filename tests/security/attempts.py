"""Sends many addresses to one form, endpoint or command and collects every wrong result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.test import Client

from tests.security import bad_addresses as bad
from tests.security import hostile_values
from tests.security.conftest import HOUSE_PORTS, Canary, Names
from tests.security.witness import Witness
from watchbook.base.web import address

# What a refused or unreachable address may be told.
SENTENCES = {*address.MESSAGES.values(), "The site could not be reached.", "Remove the control characters."}


@pytest.fixture
def inward(canary: Canary, names: Names) -> dict[str, str]:
    """Every address that leads inside, at the canary's port."""
    for host, answers in bad.NAMES.values():
        names.say(host, answers)
    return {**bad.literal(canary.at), **bad.named(canary.at)}


@pytest.fixture
def known_ports(canary: Canary, witness: Witness) -> Iterator[list[int]]:
    """Ports that a test names may be dialled. At its end: nothing else was, and nobody knocked at the canary."""
    ports: list[int] = []
    yield ports
    assert witness.strangers(*ports, *HOUSE_PORTS) == []
    assert canary.knocks == 0


def each(addresses: Mapping[Any, str], attempt: Callable[[str], str | None]) -> None:
    """`attempt` gives a complaint, or None when all is well."""
    found = [f"{number} {url[:80]!r}: {said}" for number, url in addresses.items() if (said := attempt(url))]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def some(addresses: Mapping[Any, str], place: str) -> dict[Any, str]:
    """Return a third of the addresses for a form that is drawn again after each; endpoints and commands get them all."""
    return dict(hostile_values.some(list(addresses.items()), place))


def send(browser: Client, method: str, path: str, body: Any) -> Any:
    return getattr(browser, method)(path, json.dumps(body), content_type="application/json")


def complaint(answer: Any, status: int) -> str | None:
    """None when the page says with this status what is wrong with the address."""
    said = [text for texts in answer.context["form"].errors.values() for text in texts] if answer.context else []
    if answer.status_code == status and said and set(said) <= SENTENCES:
        return None
    return f"answered {answer.status_code}: {said}"
