"""Removal of an account: what it owned is listed, transferred or deleted, and counted."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.people import ownership
from watchbook.core.people.tests.conftest import shown
from watchbook.core.search import index
from watchbook.core.search.models import SavedSearch, SearchDocument
from watchbook.core.stream.models import StreamEntry

pytestmark = pytest.mark.django_db


def fill(user: Any) -> None:
    """One channel, two saved searches, a token, and private rows of the log and of the search."""
    NotificationChannel.objects.create(user=user, name="Desk", channel_type="webhook", alert_level="P1")
    for name in ("ferries", "piers"):
        SavedSearch.objects.create(user=user, name=name, query=name, created_at=clock.now())
    tokens.make(user, ("read",), name="script")
    now, scope = clock.now(), f"user:{user.pk}"
    StreamEntry.objects.create(source="x", kind="k", scope=scope, object_id="1", occurred_at=now, created_at=now)
    index.put([index.Document("k", "1", scope, "Ferry", "times", "/", now, "x")])


def test_everything_goes_to_the_successor_and_is_counted(operator: Any, alice: Any, bob: Any) -> None:
    fill(alice)
    SavedSearch.objects.create(user=bob, name="ferries", query="other", created_at=clock.now())
    page = shown(client_of(operator).get(f"/people/{alice.pk}/remove/"))
    for words in ("1 · Channels", "2 · Saved searches", "1 · API tokens", "ferries, piers"):
        assert words in page
    client_of(operator).post(f"/people/{alice.pk}/remove/", {"what": "transfer", "successor": bob.email})

    assert not User.objects.filter(pk=alice.pk).exists()
    channel = NotificationChannel.objects.get()
    assert (channel.user_id, channel.alert_level) == (bob.pk, "")
    assert set(SavedSearch.objects.of(bob).values_list("name", flat=True)) == {
        "ferries", "piers", "ferries (alice@example.com)"
    }  # fmt: skip
    assert StreamEntry.objects.get().scope == SearchDocument.objects.get().scope == f"user:{bob.pk}"
    row = AuditEvent.objects.get(event="account.deleted")
    assert row.subject == alice.email
    assert row.actor_email == operator.email
    assert row.details["to"] == bob.email
    assert "saved_searches: 2" in row.details["transferred"]
    assert row.details["deleted"] == ["api_tokens: 1"]


def test_deletion_leaves_no_private_row_behind(operator: Any, alice: Any) -> None:
    fill(alice)
    removed = ownership.remove(alice, successor=None, actor=operator)
    assert removed.deleted == {"channels": 1, "saved_searches": 2, "documents": 1, "activity": 1, "api_tokens": 1}
    for model in (NotificationChannel, SavedSearch, StreamEntry, SearchDocument):
        assert not model.objects.exists()


def test_only_operator_cannot_be_removed_and_nothing_moves(operator: Any, alice: Any) -> None:
    fill(operator)
    with pytest.raises(InvalidInput):
        ownership.remove(operator, successor=alice, actor=operator)
    assert NotificationChannel.objects.get().user_id == operator.pk


def test_successor_must_be_another_active_account(operator: Any, alice: Any, bob: Any) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for email in (alice.email, bob.email, "stranger@example.com"):
        answer = client_of(operator).post(f"/people/{alice.pk}/remove/", {"what": "transfer", "successor": email})
        assert answer.status_code == 422
        assert "There is no other active account" in shown(answer)
    answer = client_of(operator).post(f"/people/{alice.pk}/remove/", {"what": "transfer"})
    assert "Enter the e-mail of the new owner." in shown(answer)
    assert User.objects.filter(pk=alice.pk).exists()


def test_leaving_lists_and_transfers(operator: Any, alice: Any, bob: Any) -> None:
    fill(alice)
    client = Client()
    client.force_login(alice)
    assert "2 · Saved searches" in shown(client.get("/account/delete/"))
    wrong = client.post("/account/delete/", {"what": "transfer", "successor": bob.email, "password": "no"})
    assert wrong.status_code == 200
    assert User.objects.filter(pk=alice.pk).exists()
    client.post("/account/delete/", {"what": "transfer", "successor": bob.email, "password": PASSWORD})
    assert not User.objects.filter(pk=alice.pk).exists()
    assert SavedSearch.objects.of(bob).count() == 2


def test_second_factor_and_sessions_are_reset_by_an_operator(operator: Any, alice: Any) -> None:
    from allauth.mfa.models import Authenticator

    Authenticator.objects.create(user=alice, type="totp", data={"secret": "x"})
    browser = client_of(alice)
    assert browser.get("/account/").status_code == 200
    client_of(operator).post(f"/people/{alice.pk}/", {"change": "sign_out"})
    assert browser.get("/account/").status_code == 302
    assert client_of(User.objects.get(pk=alice.pk)).get("/account/").status_code == 200
    client_of(operator).post(f"/people/{alice.pk}/", {"change": "reset_2fa"})
    assert not Authenticator.objects.exists()
    events = AuditEvent.objects.values_list("event", flat=True)
    assert {"sessions.ended", "mfa.reset"} <= set(events)


def test_list_of_users_needs_the_same_queries_for_any_number(operator: Any, django_assert_max_num_queries: Any) -> None:
    client = client_of(operator)
    client.get("/people/")
    with django_assert_max_num_queries(24) as few:
        client.get("/people/")
    for number in range(20):
        User.objects.create_user(f"p{number}@example.com")
    with django_assert_max_num_queries(len(few.captured_queries)):
        client.get("/people/")
