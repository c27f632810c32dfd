"""Who may be first, and what becomes of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from watchbook.core.accounts import access
from watchbook.core.accounts.models import AuditEvent, User

pytestmark = pytest.mark.django_db

FORM = {"email": "ada@example.com", "password1": "a long enough secret", "password2": "a long enough secret"}
HERE = {"HTTP_HOST": "127.0.0.1:8000"}
ELSEWHERE = {"HTTP_HOST": "127.0.0.1:8000", "REMOTE_ADDR": "203.0.113.9"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any) -> Path:
    settings.HOME = tmp_path
    return tmp_path


def sign_up(extra: dict[str, str], **form: str) -> Any:
    return Client(**extra).post("/accounts/signup/", {**FORM, **form})


def test_first_user_on_the_machine_is_operator_immediately() -> None:
    answer = sign_up(HERE)
    user = User.objects.get()
    assert (answer.status_code, user.is_staff, user.is_verified) == (302, True, True)
    assert mail.outbox == []
    assert [e.details for e in AuditEvent.objects.filter(event="account.signed_up")] == [{"operator": True}]


def test_first_person_is_signed_in_afterwards() -> None:
    client = Client(**HERE)
    client.post("/accounts/signup/", FORM)
    assert client.get("/account/").status_code == 200


def test_person_from_elsewhere_needs_the_code() -> None:
    refused = sign_up(ELSEWHERE)
    assert "setup_code" in refused.context["form"].errors
    assert "setup_code" in sign_up(ELSEWHERE, setup_code="guess").context["form"].errors
    assert not User.objects.exists()
    sign_up(ELSEWHERE, setup_code=access.setup_code())
    assert User.objects.get().is_staff


def test_code_works_once(home: Path) -> None:
    code = access.setup_code()
    assert (home / "keys" / "setup_code").stat().st_mode & 0o077 == 0
    sign_up(ELSEWHERE, setup_code=code)
    assert not (home / "keys" / "setup_code").exists()
    sign_up(ELSEWHERE, email="eve@example.com", setup_code=code)
    assert not User.objects.get(email="eve@example.com").is_staff


@pytest.mark.parametrize(
    "extra",
    [
        {**HERE, "HTTP_X_FORWARDED_FOR": "203.0.113.9"},
        {**HERE, "HTTP_X_REAL_IP": "203.0.113.9"},
        {**HERE, "HTTP_VIA": "1.1 proxy"},
        {**HERE, "REMOTE_ADDR": "10.0.0.7"},
        {**HERE, "REMOTE_ADDR": ""},
    ],
)
def test_proxy_on_the_same_machine_is_not_the_machine(extra: dict[str, str]) -> None:
    assert "setup_code" in sign_up(extra).context["form"].errors
    assert not User.objects.exists()


def test_name_that_points_here_is_not_the_machine(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["desk.example.com"]
    assert "setup_code" in sign_up({"HTTP_HOST": "desk.example.com"}).context["form"].errors


def test_guessing_the_code_is_counted() -> None:
    for _ in range(20):
        sign_up(ELSEWHERE, setup_code="guess")
    right = sign_up({**ELSEWHERE}, setup_code=access.setup_code())
    assert right.status_code == 429 or "setup_code" in right.context["form"].errors
    assert not User.objects.exists()


def test_second_person_is_a_member_who_confirms_by_mail(operator: Any) -> None:
    answer = sign_up(HERE)
    user = User.objects.get(email="ada@example.com")
    assert (answer.url, user.is_staff, user.is_verified) == ("/accounts/confirm-email/", False, False)
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(("choice", "first", "second"), [("open", 200, 200), ("first", 200, 0), ("closed", 0, 0)])
def test_sign_up_can_be_closed(
    choice: str, first: int, second: int, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    monkeypatch.setenv("WATCHBOOK_SIGNUP", choice)
    closed = "accounts/signup_closed.html"
    before = client.get("/accounts/signup/")
    assert (closed in [t.name for t in before.templates]) == (first == 0)
    User.objects.create_user("op@example.com", None, is_staff=True)
    after = client.get("/accounts/signup/")
    assert (closed in [t.name for t in after.templates]) == (second == 0)
    client.post("/accounts/signup/", FORM)
    assert User.objects.filter(email="ada@example.com").exists() == (second == 200)


def test_extra_fields_of_the_form_are_ignored(operator: Any) -> None:
    sign_up(HERE, is_staff="1", is_superuser="1", is_verified="1", is_active="0", id="1", role="operator")
    user = User.objects.get(email="ada@example.com")
    assert (user.is_staff, user.is_verified, user.is_active) == (False, False, True)


@pytest.mark.django_db
def test_sign_up_is_closed_by_default_after_the_first_account(monkeypatch, operator):
    monkeypatch.delenv("WATCHBOOK_SIGNUP")
    page = Client(headers={"Accept-Language": "en"}).get("/accounts/signup/").content.decode()
    assert "An operator creates new accounts on this server." in page


def test_first_page_of_a_new_server_creates_the_first_account() -> None:
    client = Client(**HERE)
    answer = client.get("/accounts/login/?next=/stream/")
    assert (answer.status_code, answer.url) == (302, "/accounts/signup/?next=%2Fstream%2F")
    page = client.get(answer.url).content.decode()
    assert "Create first account" in page
    assert "I have an account" not in page
    client.post("/accounts/signup/", FORM)
    assert "Sign in" in Client(**HERE).get("/accounts/login/").content.decode()


def test_sign_in_page_offers_an_account_only_while_sign_up_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "first")
    Client(**HERE).post("/accounts/signup/", FORM)
    assert "/accounts/signup/" not in Client(**HERE).get("/accounts/login/").content.decode()
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "open")
    assert "/accounts/signup/" in Client(**HERE).get("/accounts/login/").content.decode()


def test_closed_server_without_accounts_shows_the_sign_in_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "closed")
    assert Client(**HERE).get("/accounts/login/").status_code == 200
