"""Invitations by mail and by link, from the form to the account."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.people import groups, invitations
from watchbook.core.people.invitations import Wanted
from watchbook.core.people.models import Group, Invitation
from watchbook.core.people.tests.conftest import shown

pytestmark = pytest.mark.django_db

PASSWORD = "a long new password of nora"
NORA = {"email": "nora@example.com", "role": "member", "days": "7", "language": "en"}


def sign_up(path: str, email: str = "nora@example.com", client: Client | None = None, **extra: Any) -> Any:
    data = {"email": email, "password1": PASSWORD, "password2": PASSWORD}
    return (client or Client()).post(path, data, **extra)


def path_of(token: str) -> str:
    return f"/invite/{token}/"


def test_mail_invitation_creates_a_confirmed_account_while_sign_up_is_closed(
    operator: Any, mail_server: None, link_in_mail: Any
) -> None:
    assert Client().get("/accounts/signup/").status_code == 200  # the page that says that sign-up is closed
    answer = client_of(operator).post("/people/invite/", NORA)
    assert answer.status_code == 302
    assert mail.outbox[-1].to == ["nora@example.com"]

    client = Client(HTTP_ACCEPT_LANGUAGE="zh-hans")
    assert "nora@example.com" in shown(client.get(link_in_mail()))
    # The form's address is fixed: another one is not read.
    assert sign_up(link_in_mail(), "mallory@example.com", client)["Location"] == "/"

    nora = User.objects.get(email="nora@example.com")
    assert (nora.is_verified, nora.is_staff, nora.language) == (True, False, "zh-hans")
    assert client.get("/account/").status_code == 200
    events = AuditEvent.objects.filter(event__startswith="invitation.").order_by("id").values_list("event", flat=True)
    assert list(events) == ["invitation.made", "invitation.accepted"]


def test_mail_has_the_same_words_as_html_and_text(operator: Any, mail_server: None, link_in_mail: Any) -> None:
    client_of(operator).post("/people/invite/", {**NORA, "language": "zh-hans"})
    message: Any = mail.outbox[-1]
    html, kind = message.alternatives[0]
    assert kind == "text/html"
    for words in (operator.email, "nora@example.com", link_in_mail(), "接受邀请"):
        assert words in message.body
        assert words in html
    assert "邀请" in message.subject


def test_token_is_stored_only_as_digest(operator: Any) -> None:
    made, token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    assert made.digest == hashlib.sha256(token.encode()).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM people_invitations")
        assert token not in str(cursor.fetchall())
    assert not AuditEvent.objects.filter(details__icontains=token).exists()


def test_without_a_mail_server_the_form_says_so_and_shows_a_link(operator: Any) -> None:
    page = shown(client_of(operator).get("/people/"))
    assert "No mail server is set. You get a link to pass on." in page
    answer = client_of(operator).post("/people/invite/", NORA)
    found = re.search(r"/invite/[-\w]+/", answer.content.decode())
    assert found
    assert answer.status_code == 200
    assert not mail.outbox
    # The operator typed the address: the account is confirmed.
    sign_up(found.group())
    assert User.objects.get(email="nora@example.com").is_verified


def test_failing_mail_server_is_quoted_and_a_link_is_offered(
    operator: Any, mail_server: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any) -> int:
        import smtplib

        raise smtplib.SMTPAuthenticationError(535, b"5.7.8 Authentication failed")

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    answer = client_of(operator).post("/people/invite/", NORA)
    text = shown(answer)
    assert "535 5.7.8 Authentication failed" in text
    assert "/invite/" in text
    assert "The mail server fails: 535 5.7.8 Authentication failed" in shown(client_of(operator).get("/people/"))
    row = Invitation.objects.get()
    assert row.sent_at is None
    assert row.state(clock.now()) == "pending"
    monkeypatch.undo()
    client_of(operator).post(f"/people/invitations/{row.pk}/", {"change": "resend"})
    row.refresh_from_db()
    assert row.sent_at is not None
    assert row.mail_error == ""
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"revoked_at": True}, "This invitation was revoked."),
        ({"expires_at": True}, "This invitation has expired."),
        ({"uses": 1}, "This invitation was already used."),
    ],
)
def test_closed_link_says_why(operator: Any, change: dict[str, Any], words: str) -> None:
    made, token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    past = clock.now() - timedelta(minutes=1)
    Invitation.objects.filter(pk=made.pk).update(
        **{key: past if value is True else value for key, value in change.items()}
    )
    for answer in (Client().get(path_of(token)), sign_up(path_of(token))):
        assert answer.status_code == 410
        assert words in shown(answer)
    assert not User.objects.filter(email="nora@example.com").exists()


def test_unknown_link_is_refused_and_counted(operator: Any) -> None:
    client = Client()
    for _number in range(30):
        assert client.get(path_of("x" * 32)).status_code == 404
    assert client.get(path_of("y" * 32)).status_code == 429
    _made, token = invitations.invite(Wanted(uses=2), actor=operator)
    assert client.get(path_of(token)).status_code == 429
    assert Client(REMOTE_ADDR="192.0.2.7").get(path_of(token)).status_code == 200


def test_open_link_is_used_as_often_as_allowed_and_confirms_nothing(operator: Any, mail_server: None) -> None:
    made, token = invitations.invite(Wanted(uses=2, name="Press"), actor=operator)
    for name in ("nora", "sam"):
        assert sign_up(path_of(token), f"{name}@example.com")["Location"] == "/accounts/confirm-email/"
        assert not User.objects.get(email=f"{name}@example.com").is_verified
    answer = sign_up(path_of(token), "late@example.com")
    assert answer.status_code == 410
    assert not User.objects.filter(email="late@example.com").exists()
    made.refresh_from_db()
    assert made.uses == 2


def test_operator_confirms_an_address_where_no_mail_can(operator: Any) -> None:
    _made, token = invitations.invite(Wanted(), actor=operator)
    sign_up(path_of(token))
    nora = User.objects.get(email="nora@example.com")
    assert not nora.is_verified
    client_of(operator).post(f"/people/{nora.pk}/", {"change": "confirm"})
    client = Client()
    client.post("/accounts/login/", {"login": nora.email, "password": PASSWORD})
    assert client.get("/account/").status_code == 200


def test_renewed_link_replaces_the_old_one(operator: Any) -> None:
    made, token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    fresh = invitations.renew(made, actor=operator)
    assert Client().get(path_of(token)).status_code == 404
    assert Client().get(path_of(fresh)).status_code == 200


def test_invitation_gives_operator_and_group(operator: Any) -> None:
    group = groups.create("Harbour", actor=operator)
    _made, token = invitations.invite(Wanted(email="nora@example.com", is_operator=True, group=group), actor=operator)
    sign_up(path_of(token))
    nora = User.objects.get(email="nora@example.com")
    assert nora.is_staff
    assert nora.group_memberships.get().group == group


def test_invitation_ends_with_the_rights_of_its_inviter(operator: Any, bob: Any) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.refresh_from_db()
    _made, token = invitations.invite(Wanted(email="nora@example.com", is_operator=True), actor=bob)
    User.objects.filter(pk=bob.pk).update(is_staff=False)
    answer = sign_up(path_of(token))
    assert answer.status_code == 410
    assert not User.objects.filter(email="nora@example.com").exists()


def test_member_cannot_invite_operators_or_into_groups(operator: Any, alice: Any) -> None:
    from watchbook.base.invalid import InvalidInput

    group = groups.create("Harbour", actor=operator)
    for wanted in (Wanted(is_operator=True), Wanted(group=group)):
        with pytest.raises(InvalidInput):
            invitations.invite(wanted, actor=alice)
    assert not Invitation.objects.exists()


def test_signed_in_user_accepts_a_link_but_not_one_for_another_address(operator: Any, alice: Any) -> None:
    group = groups.create("Harbour", actor=operator)
    _made, token = invitations.invite(Wanted(group=group, uses=5), actor=operator)
    client = client_of(alice)
    assert "Accept invitation" in shown(client.get(path_of(token)))
    assert client.post(path_of(token))["Location"] == "/"
    assert alice.group_memberships.get().group == group

    _made, other = invitations.invite(Wanted(email="nora@example.com", group=group), actor=operator)
    assert "This invitation is for another e-mail address." in shown(client.get(path_of(other)))
    assert client.post(path_of(other)).status_code == 403
    assert Invitation.objects.get(email="nora@example.com").uses == 0


def test_failed_sign_up_uses_nothing(operator: Any) -> None:
    made, token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    answer = Client().post(path_of(token), {"password1": "short", "password2": "short"})
    made.refresh_from_db()
    assert answer.status_code == 200
    assert made.uses == 0


def test_existing_account_is_asked_to_sign_in(operator: Any, alice: Any) -> None:
    made, token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    Invitation.objects.filter(pk=made.pk).update(email=alice.email)
    page = Client().get(path_of(token))
    assert f"/accounts/login/?next=/invite/{token}/" in page.content.decode()
    answer = client_of(operator).post("/people/invite/", {**NORA, "email": alice.email})
    assert answer.status_code == 422
    assert "There is already an account" in shown(answer)


def test_pages_are_for_operators(matrix: Any, operator: Any, alice: Any) -> None:
    group = Group.objects.create(name="Harbour", folded="harbour")
    made, _token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    closed = {"anonymous": 302, "alice": 403, "bob": 403, "charlie": 403}
    reads = ["/people/", f"/people/groups/{group.pk}/", f"/people/{alice.pk}/remove/"]
    writes = ["/people/invite/", f"/people/invitations/{made.pk}/", "/people/groups/", f"/people/{alice.pk}/"]
    for url in reads:
        assert matrix.statuses("GET", url) == {**closed, "operator": 200}, url
    for url in [*writes, *reads[1:]]:
        found = matrix.statuses("POST", url, {"change": "nothing"})
        assert {name: found[name] for name in closed} == closed, url
    assert User.objects.count() == 4
    assert Invitation.objects.count() == 1


def test_endpoints_are_for_operators(matrix: Any, operator: Any, alice: Any) -> None:
    group = groups.create("Harbour", actor=operator)
    made, _token = invitations.invite(Wanted(email="nora@example.com"), actor=operator)
    closed = {"anonymous": 401, "alice": 403, "bob": 403, "charlie": 403}
    for url in ("people", f"people/{alice.pk}", "invitations", "groups"):
        assert matrix.statuses("GET", f"/api/v1/{url}") == {**closed, "operator": 200}, url
    changes = [
        ("PATCH", f"people/{alice.pk}", {"is_active": True}, 200),
        ("POST", "invitations", {"email": "sam@example.com", "send": False}, 201),
        ("POST", f"invitations/{made.pk}/resend", {}, 200),
        ("DELETE", f"invitations/{made.pk}", {}, 204),
        ("POST", "groups", {"name": "Press"}, 201),
        ("PATCH", f"groups/{group.pk}", {"name": "Port"}, 200),
        ("POST", f"groups/{group.pk}/members", {"user_id": str(alice.pk)}, 200),
        ("DELETE", f"groups/{group.pk}/members/{alice.pk}", {}, 204),
        ("POST", f"groups/{group.pk}/roles", {"source": "server", "place": "server", "role": "operator"}, 200),
        ("DELETE", f"groups/{group.pk}", {}, 204),
        ("DELETE", f"people/{alice.pk}", {}, 200),
    ]
    for method, url, data, status in changes:
        found = matrix.statuses(method, f"/api/v1/{url}", data)
        assert found == {**closed, "operator": status}, (method, url)
