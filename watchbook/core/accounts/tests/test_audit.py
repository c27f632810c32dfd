"""P41: each security event is exactly one row, in the transaction of what it tells; rows cannot be changed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts import actions, audit, tokens
from watchbook.core.accounts.models import ApiToken, AuditEvent, OnlyAppended, User

pytestmark = pytest.mark.django_db


def events() -> Counter[str]:
    return Counter(AuditEvent.objects.values_list("event", flat=True))


def test_every_kind_of_event_is_one_row(operator: User, alice: User, sign_in: Any) -> None:
    client = Client(HTTP_USER_AGENT="a browser")
    sign_in(client, "alice@example.com", "wrong one")
    sign_in(client, "alice@example.com", PASSWORD)
    page = client.post("/account/tokens/", {"name": "n8n", "scopes": ["read"], "days": "90"})
    client.post(f"/account/tokens/{page.context['tokens'][0].pk}/revoke/")
    form = {"oldpassword": PASSWORD, "password1": "another long secret", "password2": "another long secret"}
    client.post("/accounts/password/change/", form)
    client.post("/accounts/logout/")
    actions.set_role(alice, operator=True, actor=operator)
    actions.set_role(alice, operator=True, actor=operator)
    actions.set_active(alice, active=False, actor=operator)
    assert events() == {
        "login.failed": 1, "login.ok": 1, "token.made": 1, "token.revoked": 1, "password.changed": 1, "logout": 1,
        "account.role": 1, "account.disabled": 1,
    }  # fmt: skip
    row = AuditEvent.objects.get(event="login.ok")
    assert (row.actor_id, row.actor_email, row.address, row.user_agent) == (
        alice.pk, "alice@example.com", "127.0.0.1", "a browser",
    )  # fmt: skip
    assert row.request_id
    assert AuditEvent.objects.get(event="login.failed").subject == "alice@example.com"


def test_row_goes_when_its_change_goes(alice: User) -> None:
    with transaction.atomic():
        tokens.make(alice, ["read"])
        transaction.set_rollback(True)  # the page broke afterwards
    assert not ApiToken.objects.exists()
    assert not AuditEvent.objects.exists()


def test_change_goes_when_its_row_cannot_be_written(alice: User, monkeypatch: Any) -> None:
    def broken(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("the log is full")

    monkeypatch.setattr(audit, "record", broken)
    with pytest.raises(RuntimeError):
        tokens.make(alice, ["read"])
    with pytest.raises(RuntimeError):
        actions.set_password(alice, "another long secret", event="password.changed", request=None)
    assert not ApiToken.objects.exists()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_rows_are_not_changed_or_removed_through_the_program() -> None:
    row = audit.record("login.ok")
    row.event = "nothing happened"
    for attempt in (
        row.save,
        row.delete,
        AuditEvent.objects.all().delete,
        lambda: AuditEvent.objects.update(event="x"),
        lambda: AuditEvent.objects.filter(pk=row.pk).update(event="x"),
        lambda: AuditEvent.objects.bulk_update([row], ["event"]),
        lambda: AuditEvent.objects.update_or_create(pk=row.pk, defaults={"event": "x"}),
    ):
        with pytest.raises(OnlyAppended):
            attempt()
    assert AuditEvent.objects.get().event == "login.ok"


def test_rows_outlive_the_account(alice: User) -> None:
    tokens.make(alice, ["read"])
    actions.delete(alice)
    assert events() == {"token.made": 1, "account.deleted": 1}
    assert set(AuditEvent.objects.values_list("actor_email", flat=True)) == {"alice@example.com"}


def test_odd_values_are_made_fit() -> None:
    row = audit.record("login.failed", subject="a\0" + "b" * 400, note="x\ud800" + "y" * 9000, many={"a"}, n=3)
    row.refresh_from_db()
    assert len(row.subject) == 255
    assert "\0" not in row.subject
    assert len(row.details["note"]) <= 500
    assert row.details["n"] == 3


def test_no_password_is_ever_in_the_log(alice: User, sign_in: Any) -> None:
    sign_in(Client(), "alice@example.com", "sentinel-wrong-9ab")
    sign_in(Client(), "alice@example.com", PASSWORD)
    text = str(list(AuditEvent.objects.values()))
    assert "sentinel-wrong-9ab" not in text
    assert PASSWORD not in text


def test_log_is_for_operators(matrix: Any) -> None:
    for url in ("/audit/", "/people/"):
        assert matrix.statuses("GET", url) == {
            "anonymous": 302, "alice": 403, "bob": 403, "charlie": 403, "operator": 200,
        }  # fmt: skip


def test_log_pages_and_filters(operator: User) -> None:
    for n in range(150):
        audit.record("login.failed" if n % 3 else "logout", actor=operator, subject=f"<b>{n}</b>")
    client = client_of(operator)
    first = client.get("/audit/")
    assert len(first.context["events"]) == 50
    assert b"<b>149</b>" not in first.content
    pages = [first]
    while older := pages[-1].context["page"].older:
        pages.append(client.get("/audit/", {"older": older}))
    assert [len(page.context["events"]) for page in pages] == [50, 50, 50]
    assert len(client.get("/audit/", {"event": "logout"}).context["events"]) == 50
    for odd in ({"older": "x"}, {"older": "9" * 40}, {"newer": "-1"}, {"who": "\0'\"%"}, {"event": "__class__"}):
        assert client.get("/audit/", odd).status_code == 200


def test_export_without_filters_names_no_filters(operator: User) -> None:
    client = client_of(operator)
    for address in ("/audit/?format=csv", "/audit/?format=csv&who=nobody"):
        assert client.get(address).status_code == 200
    more = [each.more for each in client.get("/audit/?event=export.made").context["events"]]
    assert sorted(map(len, more)) == [0, 1], more


def test_mirror_reads_the_log_once(operator: User) -> None:
    moment = clock.now() - timedelta(hours=1)
    with clock.set_to(moment):
        for n in range(7):
            audit.record("logout", actor=operator, subject=str(n))
    client = client_of(operator)
    read, since = [], "beginning"
    while since:
        answer = client.get("/api/v1/audit", {"since": since, "limit": 3}).json()
        read += [each["subject"] for each in answer["items"]]
        kept, since = answer["since"], answer["next"]
    assert read == [str(n) for n in range(7)]
    audit.record("login.ok", actor=operator, subject="just now")
    assert client.get("/api/v1/audit", {"since": kept}).json() == {"items": [], "next": None, "since": kept}
    with clock.set_to(clock.now() + timedelta(minutes=2)):
        answer = client.get("/api/v1/audit", {"since": kept}).json()
    assert [each["subject"] for each in answer["items"]] == ["just now"]
    for odd in ("WyJzaW5jZSIsIngiXQ", "yesterday"):
        refused = client.get("/api/v1/audit", {"since": odd})
        assert (refused.status_code, len(refused.json()["error"]["details"])) == (422, 1)
