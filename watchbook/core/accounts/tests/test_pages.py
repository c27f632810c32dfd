"""The account page, other addresses, deletion, people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client

from watchbook.base.invalid import InvalidInput
from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts import access, actions, audit
from watchbook.core.accounts.models import ApiToken, AuditEvent, User
from watchbook.core.accounts.tokens import make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "url",
    [
        "/account/", "/account/tokens/", "/account/sessions/end/", "/account/delete/", "/accounts/email/",
        "/accounts/password/change/", "/accounts/2fa/", "/accounts/logout/", "/accounts/reauthenticate/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_page_is_drawn(url: str, language: str, alice: User) -> None:
    alice.language = language
    alice.save()
    answer = client_of(alice).get(url)
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "<h1>" in text
    assert " style=" not in text
    assert "<script>" not in text


@pytest.mark.parametrize(
    "url",
    [
        "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/password/reset/done/",
        "/accounts/password/reset/key/done/", "/accounts/inactive/", "/accounts/confirm-email/",
        "/accounts/confirm-email/nothing/", "/accounts/password/reset/key/1-abc/",
    ],
)  # fmt: skip
def test_page_before_sign_in_is_rendered(url: str, client: Client, operator: User) -> None:
    answer = client.get(url)
    assert answer.status_code == 200
    assert " style=" not in answer.content.decode()


def test_preferences_are_kept(alice: User) -> None:
    form = {"language": "zh-hans", "time_zone": "Europe/Vienna", "theme": "dark"}
    client_of(alice).post(
        "/account/", {**form, "is_staff": "1", "email": "eve@example.com", "id": "1", "password": "x"}
    )
    alice.refresh_from_db()
    assert (alice.language, alice.time_zone, alice.theme) == ("zh-hans", "Europe/Vienna", "dark")
    assert (alice.is_staff, alice.email) == (False, "alice@example.com")
    assert alice.check_password(PASSWORD)


@pytest.mark.parametrize(
    "form", [{"language": "tlh"}, {"time_zone": "../../etc/passwd"}, {"theme": "red"}, {"time_zone": "Europe/\0"}]
)
def test_unknown_preferences_are_refused(form: dict[str, str], alice: User) -> None:
    answer = client_of(alice).post("/account/", form)
    assert answer.status_code == 200
    assert answer.context["form"].errors
    alice.refresh_from_db()
    assert (alice.language, alice.time_zone, alice.theme) == ("", "", "")


def test_address_is_changed_only_after_its_link_was_opened(
    alice: User, settings: Any, link_in_mail: Callable[[], str]
) -> None:
    settings.ACCOUNT_CHANGE_EMAIL = True
    client = client_of(alice)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.post("/accounts/email/", {"email": "New@Example.com", "action_add": "1"})
    alice.refresh_from_db()
    assert (alice.email, mail.outbox[-1].to) == ("alice@example.com", ["new@example.com"])
    assert client.get("/accounts/email/").status_code == 200
    client.post(link_in_mail())
    alice.refresh_from_db()
    assert (alice.email, alice.is_verified) == ("new@example.com", True)
    assert list(EmailAddress.objects.values_list("email", flat=True)) == ["new@example.com"]
    row = AuditEvent.objects.get(event="email.changed")
    assert row.details == {"before": "alice@example.com", "after": "new@example.com"}


def test_address_change_asks_for_the_password(alice: User) -> None:
    answer = client_of(alice).post("/accounts/email/", {"email": "new@example.com", "action_add": "1"})
    assert answer.url.startswith("/accounts/reauthenticate/")
    assert mail.outbox == []


def test_second_address_becomes_the_first_one(alice: User, link_in_mail: Callable[[], str], settings: Any) -> None:
    settings.ACCOUNT_CHANGE_EMAIL = False
    client = client_of(alice)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.post("/accounts/email/", {"email": "new@example.com", "action_add": "1"})
    client.post(link_in_mail())
    client.post("/accounts/email/", {"email": "new@example.com", "action_primary": "1"})
    client.post("/accounts/email/", {"email": "alice@example.com", "action_remove": "1"})
    alice.refresh_from_db()
    assert (alice.email, alice.is_verified) == ("new@example.com", True)
    assert AuditEvent.objects.filter(event="email.changed").count() == 1


def test_deletion_asks_for_the_password_and_takes_everything(alice: User, operator: User) -> None:
    make(alice, ["read"])
    client = client_of(alice)
    assert client.post("/account/delete/", {"password": "a wrong guess"}).status_code == 200
    assert client.post("/account/delete/", {"password": PASSWORD}).url == "/accounts/login/"
    assert not User.objects.filter(pk=alice.pk).exists()
    assert not ApiToken.objects.exists()
    assert client.get("/account/").status_code == 302


def test_guessing_the_password_there_is_counted(alice: User) -> None:
    client = client_of(alice)
    answers = [client.post("/account/delete/", {"password": f"guess {n}"}) for n in range(7)]
    assert "Too many attempts" in answers[-1].content.decode()


def test_last_operator_stays(operator: User) -> None:
    client = client_of(operator)
    assert client.post("/account/delete/", {"password": PASSWORD}).status_code == 200
    client.post(f"/people/{operator.pk}/", {"change": "member"})
    client.post(f"/people/{operator.pk}/", {"change": "disable"})
    operator.refresh_from_db()
    assert (operator.is_staff, operator.is_active) == (True, True)
    with pytest.raises(InvalidInput):
        actions.delete(operator)


def test_operator_changes_roles(operator: User, alice: User, matrix: Any) -> None:
    url = f"/people/{alice.pk}/"
    assert matrix.statuses("POST", url, {"change": "operator"}) == {
        "anonymous": 302, "alice": 403, "bob": 403, "charlie": 403, "operator": 302,
    }  # fmt: skip
    alice.refresh_from_db()
    assert alice.is_staff
    client_of(operator).post(url, {"change": "disable"})
    alice.refresh_from_db()
    assert not alice.is_active


def test_what_people_may_see(alice: User, operator: User) -> None:
    from django.contrib.auth.models import AnonymousUser

    assert access.viewer_scopes(AnonymousUser()) == []
    assert access.viewer_scopes(alice) == ["members", f"user:{alice.pk}"]
    assert "staff" in access.viewer_scopes(operator)
    alice.is_active = False
    assert access.viewer_scopes(alice) == []


def test_account_page_lists_what_concerns_its_safety(alice: User, bob: User) -> None:
    audit.record("login.ok", actor=bob)
    audit.record("password.changed", actor=alice)
    for _ in range(30):
        audit.record("job.started", actor=alice, subject="tides.read")
    audit.record("token.made", actor=alice)
    shown = client_of(alice).get("/account/").context["events"]
    assert [event.event for event in shown] == ["token.made", "password.changed"]


def test_what_is_about_safety_is_an_event_with_words() -> None:
    assert set(audit.SAFETY) <= audit.OWN_TITLES.keys()
