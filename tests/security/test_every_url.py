"""Walks the whole URLconf. A new view is found by itself; it must be closed, or be named here with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.security.addresses import Address, every_address
from watchbook.base.testing.people import alice, client_of, operator
from watchbook.core.accounts import tokens

pytestmark = pytest.mark.django_db

__all__ = ["alice", "operator"]

# Open to everybody. The reason stands beside each; nothing else may answer a visitor who is not signed in.
PUBLIC = {
    "account_login": "the way in",
    "account_signup": "the way in",
    "account_logout": "sends whoever is out already to the first page",
    "account_inactive": "says one sentence",
    "account_email_verification_sent": "says one sentence",
    "account_confirm_email": "the link of a mail is the proof",
    "account_reset_password": "the way back in",
    "account_reset_password_done": "says one sentence",
    "account_reset_password_from_key": "the link of a mail is the proof",
    "account_reset_password_from_key_done": "says one sentence",
    "set_language": "a cookie of the reader",
    "set_theme": "a cookie of the reader",
    "healthz": "a probe; says ok",
    "readyz": "a probe; says ready or not, the cause only to operators",
    "unsubscribe": "the signed link of a mail is the proof",
    "library:shared": "whoever holds the link may read that one page; unknown, revoked and expired ones are 404",
}
# POST without a CSRF token is taken, because something else proves who asks.
OTHER_PROOF = {"unsubscribe": "mail programs post the signed link of a mail by themselves"}
# GET may write here: the session itself, counters, when a token was used.
WRITTEN_BY_READING = {"django_session", "cache_entries", "api_tokens", "account_emailaddress"}
CLOSED = {401, 403, 404, 405}
UNSAFE = ("post", "put", "patch", "delete")


@pytest.fixture(autouse=True)
def plain_errors(settings: Any) -> None:
    settings.DEBUG = False


@pytest.fixture
def pages() -> list[Address]:
    return [address for address in every_address() if not address.is_api]


@pytest.fixture
def endpoints() -> list[Address]:
    return [address for address in every_address() if address.is_api]


def expect_none(addresses: list[Address], check: Callable[[Address], Iterator[str]]) -> None:
    """All complaints at once: who adds five views wants to hear five times."""
    found = [f"{address.path} ({address.name}): {text}" for address in addresses for text in check(address)]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def ask(client: Client, method: str, address: Address) -> Any:
    client.raise_request_exception = False
    return getattr(client, method)(address.path)


def is_closed(answer: Any) -> bool:
    to_login = answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")
    return to_login or answer.status_code in CLOSED


def is_broken(answer: Any) -> bool:
    return answer.status_code >= 500 and answer.status_code != 503  # a probe may say that it is not ready


def test_the_walk_finds_the_program(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in pages}
    assert {"home", "account_login", "audit_log"} <= names
    assert len(endpoints) > 2


def test_lists_of_this_test_are_up_to_date(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in [*pages, *endpoints]}
    assert set(PUBLIC) | set(OTHER_PROOF) <= names


def test_nobody_gets_in_without_signing_in(pages: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        for method in ("get", *UNSAFE):
            answer = ask(Client(), method, address)
            if address.name not in PUBLIC and not is_closed(answer):
                yield f"{method} answered {answer.status_code} to a visitor"
            elif is_broken(answer):
                yield f"{method} broke with {answer.status_code}"

    expect_none(pages, check)


def test_no_endpoint_answers_without_a_token(endpoints: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        for method in ("get", *UNSAFE):
            answer = ask(Client(), method, address)
            if not is_closed(answer):
                yield f"{method} answered {answer.status_code} to a visitor"
            elif answer.status_code != 302 and "error" not in answer.json():
                yield f"{method} refused without the envelope"

    expect_none(endpoints, check)


def test_what_only_operators_may_wants_the_scope_of_operators(
    endpoints: list[Address], alice: Any, operator: Any
) -> None:
    """An operator's token for reading and writing must not do what a member's session may not."""
    _token, plain = tokens.make(operator, ("read", "write"))
    member, program = client_of(alice), Client(HTTP_AUTHORIZATION=f"Bearer {plain}")
    found = []

    def check(address: Address) -> Iterator[str]:
        for method in ("get", *UNSAFE):
            if ask(member, method, address).status_code == 403:
                found.append(address)
                if (answer := ask(program, method, address)).status_code != 403:
                    yield f"{method} answered {answer.status_code} to a token without the scope"

    expect_none(endpoints, check)
    assert len(found) > 10


def test_no_form_is_taken_without_its_token(pages: list[Address], operator: Any) -> None:
    client = client_of(operator, csrf=True)

    def check(address: Address) -> Iterator[str]:
        for method in UNSAFE:
            answer = ask(client, method, address)
            if answer.status_code != 403 and address.name not in OTHER_PROOF:
                yield f"{method} without a CSRF token answered {answer.status_code}"

    expect_none(pages, check)


def test_no_endpoint_is_changed_by_a_session_without_its_token(endpoints: list[Address], operator: Any) -> None:
    client = client_of(operator, csrf=True)

    def check(address: Address) -> Iterator[str]:
        for method in UNSAFE:
            answer = ask(client, method, address)
            if answer.status_code not in {403, 404, 405}:
                yield f"{method} without a CSRF token answered {answer.status_code}"

    expect_none(endpoints, check)


def test_staff_pages_are_closed_to_members(pages: list[Address], alice: Any, operator: Any) -> None:
    member, staff = client_of(alice), client_of(operator)
    guarded = [address for address in pages if address.is_for_staff]
    assert guarded

    def check(address: Address) -> Iterator[str]:
        for method in ("get", "post"):
            answer = ask(member, method, address)
            if answer.status_code not in {403, 405}:
                yield f"{method} answered {answer.status_code} to a member"
        if ask(staff, "get", address).status_code == 403:
            yield "closed to the operator"

    expect_none(guarded, check)


@pytest.mark.parametrize("who", ["alice", "operator"])
def test_nothing_breaks_for_people_who_are_signed_in(who: str, request: pytest.FixtureRequest) -> None:
    client = client_of(request.getfixturevalue(who))

    def check(address: Address) -> Iterator[str]:
        for method in ("get", "post", "put", "delete"):
            answer = ask(client, method, address)
            if is_broken(answer):
                yield f"{method} broke with {answer.status_code}"

    expect_none([address for address in every_address() if address.name != "account_logout"], check)
    assert client.get("/account/").status_code == 200, "somewhere on the way the session was lost"


def test_reading_changes_nothing(operator: Any) -> None:
    writes = re.compile(r'^\s*(?:INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO)\s+["`]?(\w+)', re.IGNORECASE)

    client = client_of(operator)

    def check(address: Address) -> Iterator[str]:
        with CaptureQueriesContext(connection) as queries:
            ask(client, "get", address)
        for query in queries:
            found = writes.match(query["sql"])
            if found and found.group(1) not in WRITTEN_BY_READING:
                yield f"GET wrote to {found.group(1)}"

    expect_none(every_address(), check)


def test_every_answer_says_what_it_may_load(pages: list[Address], operator: Any) -> None:
    browsers = (Client(), client_of(operator))

    def check(address: Address) -> Iterator[str]:
        for client in browsers:
            policy = ask(client, "get", address).headers.get("Content-Security-Policy", "")
            if "default-src 'none'" not in policy or "unsafe" in policy or "frame-ancestors 'none'" not in policy:
                yield f"policy {policy!r}"

    expect_none(pages, check)


def test_pages_hold_no_inline_script_or_style(pages: list[Address], operator: Any) -> None:
    inline = re.compile(r"""<style|\sstyle=|\son[a-z]+=["']|<script(?![^>]*\b(?:src=|type="application/json"))""")

    browsers = (Client(), client_of(operator))

    def check(address: Address) -> Iterator[str]:
        for client in browsers:
            answer = ask(client, "get", address)
            if answer.headers.get("Content-Type", "").startswith("text/html"):
                found = inline.search(answer.content.decode())
                if found:
                    yield f"{found.group()!r} in the page"

    expect_none(pages, check)


@pytest.mark.urls("tests.security.open_door")
def test_the_walk_finds_mistakes(pages: list[Address], alice: Any, operator: Any, request: Any) -> None:
    wrong = [address for address in pages if address.name in {"open", "exempt", "writes", "inline", "breaks"}]
    for walk, name in (
        (lambda: test_nobody_gets_in_without_signing_in(wrong), "open"),
        (lambda: test_no_form_is_taken_without_its_token(wrong, operator), "exempt"),
        (lambda: test_reading_changes_nothing(operator), "writes"),
        (lambda: test_pages_hold_no_inline_script_or_style(wrong, operator), "inline"),
        (lambda: test_nothing_breaks_for_people_who_are_signed_in("alice", request), "breaks"),
    ):
        with pytest.raises(pytest.fail.Exception, match=rf"/{name}/ \({name}\)"):
            walk()
