"""Walks the whole URLconf. Every view needs a sign-in, or is listed here with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.security.addresses import Address, every_address
from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.people import alice, client_of, operator
from watchbook.core.accounts import tokens
from watchbook.kit import errors

# One process: what one test has read, others use.
pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.xdist_group("every url")]

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
ALL = ("get", *UNSAFE)
WRITES = re.compile(r'^\s*(?:INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO)\s+["`]?(\w+)', re.IGNORECASE)


@pytest.fixture(autouse=True)
def plain_errors(settings: Any) -> None:
    settings.DEBUG = False


@pytest.fixture(autouse=True)
def error_page_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most made-up addresses return the page "not found". The first of each kind is drawn; every night, all are."""
    draw, drawn = errors._page, set()

    def page(request: HttpRequest, fault: errors.Fault, reference: str, is_bare: bool) -> str:
        user = getattr(request, "user", None)
        kind = (fault.code, is_bare, user is not None and user.is_authenticated)
        if kind in drawn:
            return ""
        drawn.add(kind)
        return draw(request, fault, reference, is_bare)

    if not NIGHTLY:
        monkeypatch.setattr(errors, "_page", page)


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


@cache
def declared(path: str) -> frozenset[str]:
    """Return the methods that an endpoint names when it is asked with one that it does not know."""
    allowed = Client().generic("BREW", path).headers.get("Allow", "")
    return frozenset(method.strip().lower() for method in allowed.split(",") if method)


def declared_of(address: Address, *all_of_them: str) -> tuple[str, ...]:
    """Return those that the endpoint has; the others are refused by one table. Every night all are sent."""
    known = declared(address.path)
    return all_of_them if NIGHTLY or not known else tuple(method for method in all_of_them if method in known)


def is_closed(answer: Any) -> bool:
    to_login = answer.status_code == 302 and answer["Location"].startswith("/accounts/login/")
    return to_login or answer.status_code in CLOSED


def is_broken(status: int) -> bool:
    return status >= 500 and status != 503  # a probe may say that it is not ready


def test_walk_finds_the_urls_of_the_product(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in pages}
    assert {"home", "account_login", "audit_log"} <= names
    assert len(endpoints) > 2


def test_exceptions_of_this_test_are_up_to_date(pages: list[Address], endpoints: list[Address]) -> None:
    names = {address.name for address in [*pages, *endpoints]}
    assert set(PUBLIC) | set(OTHER_PROOF) <= names


def test_public_page_needs_no_sign_in(pages: list[Address]) -> None:
    """Whoever asks for the way in, and comes back to the way in, never gets in."""

    def check(address: Address) -> Iterator[str]:
        answer = ask(Client(), "get", address)
        if answer.status_code == 302 and answer["Location"].startswith("/accounts/login/?next="):
            yield "is public, and asks a visitor to sign in"

    expect_none([address for address in pages if address.name in PUBLIC], check)


def test_anonymous_user_is_redirected_to_sign_in(pages: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        visitor = Client()
        # A page asks for its reader before it looks at the method; every night all of them are sent.
        for method in ALL if NIGHTLY else ("get", "post"):
            answer = ask(visitor, method, address)
            if address.name not in PUBLIC and not is_closed(answer):
                yield f"{method} answered {answer.status_code} to a visitor"
            elif is_broken(answer.status_code):
                yield f"{method} broke with {answer.status_code}"

    expect_none(pages, check)


def test_endpoint_without_a_token_is_refused(endpoints: list[Address]) -> None:
    def check(address: Address) -> Iterator[str]:
        visitor = Client()
        for method in declared_of(address, *ALL):
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
        for method in declared_of(address, *ALL):
            if ask(member, method, address).status_code == 403:
                found.append(address)
                if (answer := ask(program, method, address)).status_code != 403:
                    yield f"{method} answered {answer.status_code} to a token without the scope"

    expect_none(endpoints, check)
    assert len(found) > 10


def test_form_without_csrf_token_is_refused(pages: list[Address], operator: Any) -> None:
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
        for method in declared_of(address, *UNSAFE):
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


@dataclass(frozen=True)
class Reading:
    """What one GET request returned and wrote."""

    status: int
    policy: str
    html: str
    written: frozenset[str]


def read(address: Address, client: Client) -> Reading:
    with CaptureQueriesContext(connection) as queries:
        answer = ask(client, "get", address)
    is_html = answer.headers.get("Content-Type", "").startswith("text/html")
    html = answer.content.decode() if is_html else ""
    written = frozenset(found[1] for query in queries if (found := WRITES.match(query["sql"])))
    return Reading(answer.status_code, answer.headers.get("Content-Security-Policy", ""), html, written)


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


@pytest.mark.parametrize("who", ["alice", "operator"])
def test_no_url_fails_for_signed_in_users(
    who: str, request: pytest.FixtureRequest, every: list[Address], readings: Readings
) -> None:
    client = client_of(request.getfixturevalue(who))

    def status(method: str, address: Address) -> int:
        if method == "get" and who == "operator":
            return readings(address)[-1].status
        return int(ask(client, method, address).status_code)

    def check(address: Address) -> Iterator[str]:
        # What a member may send is a part of what an operator may, and pages know GET and POST; every night both send
        # all of it.
        methods = ("get",) if who == "alice" else declared_of(address, *ALL) if address.is_api else ("get", "post")
        for method in ALL if NIGHTLY else methods:
            if is_broken(code := status(method, address)):
                yield f"{method} broke with {code}"

    expect_none([address for address in every if address.name != "account_logout"], check)
    assert client.get("/account/").status_code == 200, "somewhere on the way the session was lost"


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
    pages: list[Address], alice: Any, operator: Any, readings: Readings, request: Any
) -> None:
    wrong = [address for address in pages if address.name in {"open", "exempt", "writes", "inline", "breaks"}]
    for walk, name in (
        (lambda: test_anonymous_user_is_redirected_to_sign_in(wrong), "open"),
        (lambda: test_form_without_csrf_token_is_refused(wrong, operator), "exempt"),
        (lambda: test_get_request_writes_nothing(wrong, readings), "writes"),
        (lambda: test_pages_hold_no_inline_script_or_style(wrong, readings), "inline"),
        (lambda: test_no_url_fails_for_signed_in_users("alice", request, wrong, readings), "breaks"),
    ):
        with pytest.raises(pytest.fail.Exception, match=rf"/{name}/ \({name}\)"):
            walk()
