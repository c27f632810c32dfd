"""Sessions at rest: the table is of no use to whoever reads it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.models import Session

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.sessions import SessionStore, row_name

pytestmark = pytest.mark.django_db


def test_row_holds_neither_the_cookie_nor_the_content(alice: Any) -> None:
    store = SessionStore()
    store["mfa.totp.secret"] = "JBSWY3DPEHPK3PXP"
    store.save()
    row = Session.objects.get()
    assert row.session_key == row_name(store.session_key)
    assert store.session_key not in f"{row.session_key} {row.session_data}"
    assert row.session_data.startswith("v2:")
    assert SessionStore(store.session_key)["mfa.totp.secret"] == "JBSWY3DPEHPK3PXP"


def test_row_name_opens_nothing(alice: Any) -> None:
    client = client_of(alice)
    assert client.get("/account/").status_code == 200
    client.cookies["watchbook_session"] = Session.objects.get().session_key
    assert client.get("/account/").status_code == 302


def test_session_content_moved_to_another_row_signs_no_user_in(alice: Any, operator: Any) -> None:
    """Whoever can write to the table cannot make a session of his own the operator's."""
    theirs, mine = client_of(operator), client_of(alice)
    stolen = Session.objects.get(pk=row_name(theirs.cookies["watchbook_session"].value)).session_data
    Session.objects.filter(pk=row_name(mine.cookies["watchbook_session"].value)).update(session_data=stolen)
    assert mine.get("/account/").status_code == 302
    assert theirs.get("/account/").status_code == 200


def test_signing_out_removes_the_row_and_a_new_sign_in_has_a_new_one(alice: Any) -> None:
    client = client_of(alice)
    before = Session.objects.get().session_key
    client.post("/accounts/logout/")
    assert not Session.objects.filter(pk=before).exists()
    store = SessionStore()
    store["a"] = 1
    store.save()
    old = store.session_key
    store.cycle_key()
    assert (store["a"], SessionStore(store.session_key)["a"], store.exists(old)) == (1, 1, False)


def test_with_another_key_everybody_is_signed_out(alice: Any, settings: Any) -> None:
    client = client_of(alice)
    settings.SECRETS_KEYS = {"k2": "another key of the house"}
    assert client.get("/account/").status_code == 302
