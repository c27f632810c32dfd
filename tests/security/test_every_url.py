"""Walks the whole URLconf. Every view needs a sign-in, or is listed here with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.security.addresses import Address, every_address
from watchbook.base.testing.environment import NIGHTLY
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
    "mfa_login_webauthn": "the way in",
    "oidc_start": "the way in",
    "oidc_callback": "the way in; the session and the signed answer of the provider are the proof",
    "oidc_signed_out": "says one sentence",
    "invite": "the link of an invitation is the proof; unknown, used, expired and revoked ones say so",
    "set_language": "a cookie of the reader",
    "set_theme": "a cookie of the reader",
    "sources_css": "the colours of the sources; a style sheet without data",
    "healthz": "a probe; says ok",
    "readyz": "a probe; says ready or not, the cause only to operators",
    "unsubscribe": "the signed link of a mail is the proof",
    "push_worker": "a script without data, the same for everybody",
    "app_manifest": "name and icons of the app, the same for everybody",
    "mcp-metadata": "says how a token is sent to /mcp; the same words for everybody",
    "library:shared_file": "whoever holds the link of a page may see its pictures; all others are 404",
    "library:shared": "whoever holds the link may read that one page; unknown, revoked and expired ones are 404",
}
# POST without a CSRF token is taken, because something else proves who asks.
OTHER_PROOF = {
    "unsubscribe": "mail programs post the signed link of a mail by themselves",
    "mcp": "only a token counts, a session does not; pages of other hosts are refused",
}
# GET may write here: the session itself, counters, when a token was used.
WRITTEN_BY_READING = {"django_session", "cache_entries", "api_tokens", "account_emailaddress"}
CLOSED = {401, 403, 404, 405}
UNSAFE = ("post", "put", "patch", "delete")
WRITES = re.compile(r'^\s*(?:INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO)\s+["`]?(\w+)', re.IGNORECASE)


@pytest.fixture(autouse=True)
def plain_errors(settings: Any) -> None:
    settings.DEBUG = False


@pytest.fixture
def every() -> list[Address]:
    return every_address()


@pytest.fixture
def pages(every: list[Address]) -> list[Address]:
    return [address for address in every if not address.is_api]


@pytest.fixture
def endpoints(every: list[Address]) -> list[Address]:
    return [address for address in every if address.is_api]


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


def test_walk_finds_the_urls_of_the_product(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in pages}
    assert {"home", "account_login", "audit_log"} <= names
    assert len(endpoints) > 2


def test_exceptions_of_this_test_are_up_to_date(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in [*pages, *endpoints]}
    assert set(PUBLIC) | set(OTHER_PROOF) <= names


def test_public_page_sends_nobody_to_sign_in(pages: list[Address]) -> None:
    """Whoever asks for the way in, and comes back to the way in, never gets in."""

    def check(address: Address) -> Iterator[str]:
        answer = ask(Client(), "get", address)
        if answer.status_code == 302 and answer["Location"].startswith("/accounts/login/?next="):
            yield "is public, and asks a visitor to sign in"

    expect_none([address for address in pages if address.name in PUBLIC], check)


def test_anonymous_user_is_redirected_to_sign_in(pages: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        visitor = Client()
        for method in ("get", *UNSAFE):
            answer = ask(visitor, method, address)
            if address.name not in PUBLIC and not is_closed(answer):
                yield f"{method} answered {answer.status_code} to a visitor"
            elif is_broken(answer):
                yield f"{method} broke with {answer.status_code}"

    expect_none(pages, check)


def test_endpoint_without_a_token_is_refused(endpoints: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        visitor = Client()
        for method in ("get", *UNSAFE):
            answer = ask(visitor, method, address)
            if not is_closed(answer):
                yield f"{method} answered {answer.status_code} to a visitor"
            elif answer.status_code != 302 and "error" not in answer.json():
                yield f"{method} refused without the envelope"

    expect_none(endpoints, check)


def test_operator_endpoint_without_staff_scope_is_refused(endpoints: list[Address], alice: Any, operator: Any) -> None:
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


def refused_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """In place of the page about an expired form, which has tests of its own and takes long to draw 900 times."""
    return HttpResponse(status=403)


def test_form_without_csrf_token_is_refused(pages: list[Address], operator: Any, settings: Any) -> None:
    settings.CSRF_FAILURE_VIEW = refused_form
    client = client_of(operator, csrf=True)

    def check(address: Address) -> Iterator[str]:
        # A view is exempt for every method or for none; every night all of them are sent.
        for method in UNSAFE if NIGHTLY else ("post",):
            answer = ask(client, method, address)
            if answer.status_code != 403 and address.name not in OTHER_PROOF:
                yield f"{method} without a CSRF token answered {answer.status_code}"

    expect_none(pages, check)


def test_session_request_without_csrf_token_is_refused(endpoints: list[Address], operator: Any) -> None:
    client = client_of(operator, csrf=True)

    def check(address: Address) -> Iterator[str]:
        for method in UNSAFE:
            answer = ask(client, method, address)
            if answer.status_code not in {403, 404, 405}:
                yield f"{method} without a CSRF token answered {answer.status_code}"

    expect_none(endpoints, check)


def test_operator_page_is_refused_to_members(pages: list[Address], alice: Any, operator: Any) -> None:
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
def test_no_url_fails_for_signed_in_users(who: str, request: pytest.FixtureRequest, every: list[Address]) -> None:
    client = client_of(request.getfixturevalue(who))

    def check(address: Address) -> Iterator[str]:
        # Pages know GET and POST, and what a member may send is a part of what an operator may; every night both send
        # all of it.
        is_whole = NIGHTLY or (who == "operator" and address.is_api)
        for method in ("get", "post", "put", "delete") if is_whole else ("get", "post"):
            answer = ask(client, method, address)
            if is_broken(answer):
                yield f"{method} broke with {answer.status_code}"

    expect_none([address for address in every if address.name != "account_logout"], check)
    assert client.get("/account/").status_code == 200, "somewhere on the way the session was lost"


@dataclass(frozen=True)
class Reading:
    """What one GET request returned and wrote."""

    policy: str
    html: str
    written: frozenset[str]


def read(address: Address, client: Client) -> Reading:
    with CaptureQueriesContext(connection) as queries:
        answer = ask(client, "get", address)
    is_html = answer.headers.get("Content-Type", "").startswith("text/html")
    html = answer.content.decode() if is_html else ""
    written = frozenset(found[1] for query in queries if (found := WRITES.match(query["sql"])))
    return Reading(answer.headers.get("Content-Security-Policy", ""), html, written)


@pytest.fixture(scope="module")
def kept() -> dict[tuple[str, str], Reading]:
    """Readings that the tests of this module share: each address is read once by each reader."""
    return {}


@pytest.fixture
def readings(operator: Any, kept: dict[tuple[str, str], Reading]) -> Callable[[Address], list[Reading]]:
    readers = {"visitor": Client(), "operator": client_of(operator)}

    def of(address: Address) -> list[Reading]:
        for who, client in readers.items():
            if (who, address.path) not in kept:
                kept[who, address.path] = read(address, client)
        return [kept[who, address.path] for who in readers]

    return of


Readings = Callable[[Address], list[Reading]]


def test_get_request_writes_nothing(every: list[Address], readings: Readings) -> None:
    def check(address: Address) -> Iterator[str]:
        for table in {name for found in readings(address) for name in found.written} - WRITTEN_BY_READING:
            yield f"GET wrote to {table}"

    expect_none(every, check)


def test_every_page_has_a_content_security_policy(pages: list[Address], readings: Readings) -> None:
    def check(address: Address) -> Iterator[str]:
        for policy in (found.policy for found in readings(address)):
            if "default-src 'none'" not in policy or "unsafe" in policy or "frame-ancestors 'none'" not in policy:
                yield f"policy {policy!r}"

    expect_none(pages, check)


def test_pages_hold_no_inline_script_or_style(pages: list[Address], readings: Readings) -> None:
    inline = re.compile(r"""<style|\sstyle=|\son[a-z]+=["']|<script(?![^>]*\b(?:src=|type="application/json"))""")

    def check(address: Address) -> Iterator[str]:
        for found in readings(address):
            if piece := inline.search(found.html):
                yield f"{piece.group()!r} in the page"

    expect_none(pages, check)


@pytest.mark.urls("tests.security.faulty_urls")
def test_walk_finds_planted_mistakes(
    pages: list[Address], alice: Any, operator: Any, readings: Readings, request: Any, settings: Any
) -> None:
    wrong = [address for address in pages if address.name in {"open", "exempt", "writes", "inline", "breaks"}]
    for walk, name in (
        (lambda: test_anonymous_user_is_redirected_to_sign_in(wrong), "open"),
        (lambda: test_form_without_csrf_token_is_refused(wrong, operator, settings), "exempt"),
        (lambda: test_get_request_writes_nothing(wrong, readings), "writes"),
        (lambda: test_pages_hold_no_inline_script_or_style(wrong, readings), "inline"),
        (lambda: test_no_url_fails_for_signed_in_users("alice", request, wrong), "breaks"),
    ):
        with pytest.raises(pytest.fail.Exception, match=rf"/{name}/ \({name}\)"):
            walk()
