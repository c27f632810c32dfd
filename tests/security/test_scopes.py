"""A token never does more than its user: every operation, for each role and scope, and the pages beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from tests.security.api_world import Operation, Prepared, World, alice, operations, prepared, real_paths, world
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.fixtures import SharedRows
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import ApiToken
from watchbook.systems.notes.models import AllowedUser

pytestmark = [pytest.mark.django_db]
__all__ = ["alice", "prepared", "world"]

OPERATIONS = operations()
SCOPES = tuple(tokens.scopes())
ROLES = ("member", "allowed", "operator")
REFUSED = {401, 403, 404}
# An operation of the API and the page that shows or does the same.
PAGES = {
    "/api/v1/notes/cookies": "/notes/cookies/",
    "/api/v1/jobs": "/operations/jobs/",
    "/api/v1/notes/candidates": "/notes/",
    "/api/v1/alerts": "/alerts/",
    "/api/v1/channels": "/channels/",
    "/api/v1/sitemaps/monitors": "/sitemaps/",
    "/api/v1/reddit/communities": "/reddit/",
    "/api/v1/nga/threads": "/nga/",
    "/api/v1/library/workspaces": "/library/",
}


def person(role: str) -> Any:
    user = make_person(f"walk-{role}", is_staff=role == "operator")
    if role == "allowed":
        AllowedUser.objects.create(user=user)
    return user


def forced(user: Any, *scopes: str) -> Client:
    """A client whose token has these scopes in its row, whether its user may have them or not."""
    token, plain = tokens.make(user, ["read"], 1)
    ApiToken.objects.filter(pk=token.pk).update(scopes=list(scopes))
    return Client(headers={"Authorization": f"Bearer {plain}"})


@dataclass(frozen=True)
class Walker:
    """One user with every client that the walk needs: a session, and a token for each scope and for none."""

    user: Any
    session: Client
    by_scope: dict[str, Client]
    """Tokens with read, write and this scope."""
    by_one: dict[str, Client]
    """Tokens with this scope alone."""
    plain: Client


@pytest.fixture(scope="module")
def walkers(prepared: Prepared, shared_rows: SharedRows) -> dict[str, Walker]:
    with shared_rows():
        return {role: walker(person(role)) for role in ROLES}


def walker(user: Any) -> Walker:
    by_scope = {scope: forced(user, *{"read", "write", scope}) for scope in SCOPES}
    by_one = {scope: forced(user, scope) for scope in SCOPES}
    return Walker(user, client_of(user), by_scope, by_one, forced(user, "read", "write"))


def status(client: Client, operation: Operation, path: str) -> int:
    return client.generic(operation.method.upper(), path + "?no_such_name=1", b"", "application/json").status_code


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_token_does_no_more_than_its_user_may(operation: Operation, world: World, walkers: dict[str, Walker]) -> None:
    """The strange parameter stops the call after authentication, so nothing is changed by the walk."""
    path = real_paths(operation, world)[0]
    for role, one in walkers.items():
        # A scope that the user may have adds what it says; one that he may not have adds nothing.
        for scope in sorted(set(SCOPES) - set(tokens.scopes_for(one.user))):
            by_token = status(one.by_scope[scope], operation, path)
            if by_token not in REFUSED:
                session = status(one.session, operation, path)
                assert session not in REFUSED, f"{role} with {scope}: token {by_token}, session {session}"
                assert status(one.plain, operation, path) == by_token


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_token_without_the_needed_scope_is_refused(
    operation: Operation, world: World, walkers: dict[str, Walker]
) -> None:
    """Of an operator, who may do everything: what is refused is refused for the token."""
    path = real_paths(operation, world)[0]
    operator = walkers["operator"]
    wrong = operator.by_one["write" if operation.method.upper() == "GET" else "read"]
    assert status(wrong, operation, path) == 403
    assert status(operator.by_one["staff"], operation, path) == 403
    if status(walkers["member"].session, operation, path) == 403:
        assert status(operator.plain, operation, path) == 403


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("role", ["member", "operator"])
def test_page_and_api_refuse_the_same_roles(path: str, role: str, world: World, walkers: dict[str, Walker]) -> None:
    page = walkers[role].session.get(PAGES[path]).status_code
    by_token = forced(walkers[role].user, *SCOPES).get(path).status_code
    assert (page in REFUSED) == (by_token in REFUSED), f"page {page}, token {by_token}"


@pytest.mark.parametrize(("role", "offered"), [("member", False), ("allowed", True), ("operator", True)])
def test_scope_is_offered_only_to_users_who_may_use_it(
    role: str, offered: bool, world: World, walkers: dict[str, Walker]
) -> None:
    user = walkers[role].user
    assert ("notes" in tokens.scopes_for(user)) == offered
    page = walkers[role].session.get("/account/tokens/").content.decode()
    assert ('value="notes"' in page) == offered
    if not offered:
        with pytest.raises(InvalidInput, match="may not have the scope notes"):
            tokens.make(user, ["notes"])


def test_scope_that_was_removed_stops_working(world: World, walkers: dict[str, Walker]) -> None:
    user = walkers["allowed"].user
    client = Client(headers={"Authorization": f"Bearer {tokens.make(user, ['notes'])[1]}"})
    assert client.get("/api/v1/notes/cookies").status_code == 200
    AllowedUser.objects.filter(user=user).delete()
    assert client.get("/api/v1/notes/cookies").status_code == 403


def test_walk_covers_operations_roles_and_scopes(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{len(OPERATIONS)} operations x {len(ROLES)} roles x {len(SCOPES)} scopes")
    assert len(OPERATIONS) * len(ROLES) * len(SCOPES) > 900
