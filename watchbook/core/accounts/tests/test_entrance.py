"""Signing up, in and out; confirming; resetting. What the pages say and what they must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts.models import ApiToken, AuditEvent, User
from watchbook.core.accounts.tokens import make

pytestmark = pytest.mark.django_db

NEW = "another long secret"


def sign_up(client: Client, email: str, password: str = NEW) -> Any:
    return client.post("/accounts/signup/", {"email": email, "password1": password, "password2": password})


def test_sign_up_confirm_and_sign_in(
    operator: User, client: Client, link_in_mail: Callable[[], str], sign_in: Any
) -> None:
    sign_up(client, "Dora@Example.com")
    user = User.objects.get(email="dora@example.com")
    assert sign_in(client, user.email, NEW).url == "/accounts/confirm-email/"
    assert client.get("/account/").status_code == 302

    link = link_in_mail()
    assert client.get(link).status_code == 200
    user.refresh_from_db()
    assert not user.is_verified, "a GET, for instance of a mail scanner, must confirm nothing"
    client.post(link)
    user.refresh_from_db()
    assert user.is_verified
    assert sign_in(client, user.email, NEW).url == "/"
    assert AuditEvent.objects.filter(event="account.verified", actor_id=user.pk).count() == 1


@pytest.mark.parametrize(
    ("asked", "kept"), [("zh-CN,zh;q=0.9,en;q=0.8", "zh-hans"), ("en-GB,en", "en"), ("fr-FR,fr", "en"), ("", "")]
)
def test_sign_up_keeps_the_language_of_the_browser(operator: User, asked: str, kept: str) -> None:
    sign_up(Client(headers={"Accept-Language": asked} if asked else {}), "dora@example.com")
    assert User.objects.get(email="dora@example.com").language == kept


def test_confirmation_link_works_once(operator: User, client: Client, link_in_mail: Callable[[], str]) -> None:
    sign_up(client, "dora@example.com")
    link = link_in_mail()
    client.post(link)
    assert client.post(link).status_code == 404
    assert AuditEvent.objects.filter(event="account.verified").count() == 1


def test_mail_links_come_from_the_settings_not_from_the_host(operator: User, settings: Any, alice: User) -> None:
    settings.PUBLIC_URL = "https://desk.example.com"
    settings.ALLOWED_HOSTS = ["*"]
    evil = Client(HTTP_HOST="evil.example", HTTP_X_FORWARDED_HOST="evil.example")
    sign_up(evil, "dora@example.com")
    sign_up(evil, "alice@example.com")
    evil.post("/accounts/password/reset/", {"email": "alice@example.com"})
    evil.post("/accounts/password/reset/", {"email": "nobody@example.com"})
    assert len(mail.outbox) == 4
    for message in mail.outbox:
        assert "evil.example" not in message.body + message.subject
        assert "https://desk.example.com" in message.body


def test_foreign_host_is_refused(client: Client) -> None:
    assert (
        client.post("/accounts/password/reset/", {"email": "a@example.com"}, HTTP_HOST="evil.example").status_code
        == 400
    )


def test_reset_ends_sessions_and_tokens(alice: User, link_in_mail: Callable[[], str], sign_in: Any) -> None:
    elsewhere = client_of(alice)
    make(alice, ["read"])
    client = Client()
    client.post("/accounts/password/reset/", {"email": "ALICE@example.com"})
    assert mail.outbox[-1].to == ["alice@example.com"]
    form = client.get(link_in_mail(), follow=True)
    done = client.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    assert done.url == "/accounts/password/reset/key/done/"
    assert elsewhere.get("/account/").status_code == 302
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert "form" in sign_in(Client(), "alice@example.com", PASSWORD).context
    assert sign_in(Client(), "alice@example.com", NEW).url == "/"
    assert AuditEvent.objects.filter(event="password.reset", actor_id=alice.pk).count() == 1


def test_reset_link_works_once(alice: User, link_in_mail: Callable[[], str]) -> None:
    client = Client()
    client.post("/accounts/password/reset/", {"email": "alice@example.com"})
    link = link_in_mail()
    form = client.get(link, follow=True)
    client.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    assert Client().get(link).context["token_fail"]


def test_reset_mail_goes_to_the_stored_spelling(alice: User, client: Client) -> None:
    client.post("/accounts/password/reset/", {"email": "alice@ｅxample.com"})
    assert [message.to for message in mail.outbox] == [["alice@example.com"]]


def test_reset_and_sign_up_do_not_reveal_who_has_an_account(alice: User, operator: User) -> None:
    known = Client().post("/accounts/password/reset/", {"email": "alice@example.com"})
    unknown = Client().post("/accounts/password/reset/", {"email": "nobody@example.com"})
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    taken, free = sign_up(Client(), "alice@example.com"), sign_up(Client(), "dora@example.com")
    assert (taken.status_code, taken.url) == (free.status_code, free.url)
    assert User.objects.filter(email="alice@example.com").count() == 1
    assert Client().get(taken.url).content.split(b"csrf")[0] == Client().get(free.url).content.split(b"csrf")[0]


def test_sign_in_says_the_same_for_unknown_and_wrong(alice: User, sign_in: Any) -> None:
    wrong = sign_in(Client(), "alice@example.com", "not her password")
    unknown = sign_in(Client(), "nobody@example.com", "not her password")
    assert wrong.status_code == unknown.status_code == 200
    assert wrong.context["form"].errors == unknown.context["form"].errors


def test_unknown_account_costs_a_hash_like_a_known_one(alice: User, sign_in: Any, monkeypatch: Any) -> None:
    from django.contrib.auth.hashers import BCryptSHA256PasswordHasher

    hashed = []
    real = BCryptSHA256PasswordHasher.encode
    monkeypatch.setattr(
        BCryptSHA256PasswordHasher, "encode", lambda self, *given: hashed.append(1) or real(self, *given)
    )

    def hashes_of(act: Callable[[], Any]) -> int:
        hashed.clear()
        act()
        return len(hashed)

    known = hashes_of(lambda: sign_in(Client(), "alice@example.com", "wrong password"))
    unknown = hashes_of(lambda: sign_in(Client(), "nobody@example.com", "wrong password"))
    assert known == unknown == 1
    taken = hashes_of(lambda: sign_up(Client(), "alice@example.com"))
    free = hashes_of(lambda: sign_up(Client(), "dora@example.com"))
    assert taken == free == 1


def test_same_sign_up_twice_in_parallel_is_one_account(operator: User, client: Client, monkeypatch: Any) -> None:
    """The other request was faster: it wrote its row after this form had found the address free."""
    from watchbook.core.accounts import forms

    real = forms.SignupForm.try_save

    def meanwhile(self: Any, request: Any) -> Any:
        if not User.objects.filter(email="dora@example.com").exists():
            User.objects.create_user("dora@example.com", None)
        return real(self, request)

    monkeypatch.setattr(forms.SignupForm, "try_save", meanwhile)
    assert sign_up(client, "dora@example.com").url == "/accounts/confirm-email/"
    assert User.objects.filter(email="dora@example.com").count() == 1


def test_sign_out_needs_post_and_kills_the_session(alice: User) -> None:
    client = client_of(alice)
    cookie = client.cookies["watchbook_session"].value
    client.get("/accounts/logout/")
    assert client.get("/account/").status_code == 200
    client.post("/accounts/logout/")
    replay = Client()
    replay.cookies["watchbook_session"] = cookie
    assert replay.get("/account/").status_code == 302


def test_sign_in_makes_a_new_session(alice: User, client: Client, sign_in: Any) -> None:
    client.get("/accounts/login/")
    session = client.session
    session["planted"] = "1"
    session.save()
    client.cookies["watchbook_session"] = planted = session.session_key
    sign_in(client, "alice@example.com", PASSWORD)
    assert client.cookies["watchbook_session"].value != planted


def test_disabled_account_is_signed_out_immediately(alice: User, sign_in: Any) -> None:
    client = client_of(alice)
    alice.is_active = False
    alice.save()
    assert client.get("/account/").status_code == 302
    assert sign_in(Client(), "alice@example.com", PASSWORD).url == "/accounts/inactive/"


def test_mail_server_that_is_down_does_not_break_the_page(alice: User, client: Client, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    answer = client.post("/accounts/password/reset/", {"email": "alice@example.com"}, follow=True)
    assert answer.status_code == 200
    assert "The e-mail could not be sent" in answer.content.decode()


def test_one_address_gets_ten_mails_an_hour_at_most(alice: User) -> None:
    for n in range(14):
        Client(REMOTE_ADDR=f"203.0.113.{n}").post("/accounts/password/reset/", {"email": "alice@example.com"})
    assert len(mail.outbox) <= 10
