"""Groups: what a role of a group gives, and that leaving takes back exactly that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.people import groups, roles
from watchbook.core.people.models import GivenRole, Group
from watchbook.core.people.roles import Choice

pytestmark = pytest.mark.django_db

OPERATOR = Choice("server", "server", "operator", "This server", "Operator")


def is_operator(user: Any) -> bool:
    return User.objects.get(pk=user.pk).is_staff


def test_group_makes_operators_and_demotes_them(operator: Any, alice: Any, bob: Any) -> None:
    group = groups.create("Ops", actor=operator)
    groups.add_member(group, alice, actor=operator)
    groups.set_role(group, OPERATOR, actor=operator)
    groups.add_member(group, bob, actor=operator)
    assert is_operator(alice)
    assert is_operator(bob)
    groups.remove_member(group, alice, actor=operator)
    assert not is_operator(alice)
    assert is_operator(bob)
    groups.delete(group, actor=operator)
    assert not is_operator(bob)
    assert not GivenRole.objects.exists()
    assert AuditEvent.objects.filter(event="account.role").count() == 4


def test_own_role_stays_after_the_group_is_left(operator: Any, alice: Any) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    group = groups.create("Ops", actor=operator)
    groups.set_role(group, OPERATOR, actor=operator)
    groups.add_member(group, alice, actor=operator)
    groups.delete(group, actor=operator)
    assert is_operator(alice)


def test_only_operator_cannot_lose_the_role_with_a_group(alice: Any) -> None:
    group = groups.create("Ops", actor=alice)
    groups.set_role(group, OPERATOR, actor=alice)
    groups.add_member(group, alice, actor=alice)
    with pytest.raises(InvalidInput):
        groups.remove_member(group, alice, actor=alice)
    assert is_operator(alice)
    assert group.members.count() == 1


def test_two_spellings_are_one_group(operator: Any) -> None:
    groups.create("Harbour  Team", actor=operator)
    with pytest.raises(InvalidInput):
        groups.create("ＨＡＲＢＯＵＲ team", actor=operator)


def test_group_page_changes_members_and_roles(operator: Any, alice: Any) -> None:
    client = client_of(operator)
    page = client.post("/people/groups/", {"name": "Harbour"})["Location"]
    client.post(page, {"change": "add", "email": alice.email})
    client.post(page, {"change": "give", "role": "server|server|operator"})
    text = client.get(page).content.decode()
    assert alice.email in text
    assert "This server · Operator" in text
    assert is_operator(alice)
    group = Group.objects.get()
    client.post(page, {"change": "take", "role": str(group.roles.get().pk)})
    assert not is_operator(alice)
    client.post(page, {"change": "rename", "name": "Port"})
    client.post(page, {"change": "remove", "user": str(alice.pk)})
    group.refresh_from_db()
    assert group.name == "Port"
    assert not group.members.exists()
    assert client.post(page, {"change": "delete"})["Location"] == "/people/"
    assert not Group.objects.exists()


def test_role_that_is_not_offered_is_refused(operator: Any, alice: Any) -> None:
    with pytest.raises(InvalidInput):
        roles.choice_of(operator, "server|server|owner")
    with pytest.raises(InvalidInput):
        roles.choice_of(alice, "server|server|operator")


class RandomHistories(TestCase):
    """After any history of groups, a user has the role of a naive model: own role, or that of a group."""

    @given(st.lists(st.tuples(st.sampled_from(["join", "leave", "give", "take"]), st.integers(0, 2)), max_size=14))
    def test_roles_equal_a_naive_model(self, history: list[tuple[str, int]]) -> None:
        operator, alice = make_person("operator", is_staff=True), make_person("alice")
        made = [groups.create(f"g{number}", actor=operator) for number in range(3)]
        joined: set[int] = set()
        giving: set[int] = set()
        for what, number in history:
            group = made[number]
            if what == "join":
                groups.add_member(group, alice, actor=operator)
                joined.add(number)
            elif what == "leave":
                groups.remove_member(group, alice, actor=operator)
                joined.discard(number)
            elif what == "give":
                groups.set_role(group, OPERATOR, actor=operator)
                giving.add(number)
            elif row := group.roles.first():
                groups.remove_role(row, actor=operator)
                giving.discard(number)
            assert is_operator(alice) == bool(joined & giving)
