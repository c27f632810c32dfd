"""The second step: on, at sign-in, by recovery code, off. Secrets are sealed."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.test import Client

from watchbook.base.testing.people import PASSWORD, client_of
from watchbook.core.accounts.adapter import MfaAdapter
from watchbook.core.accounts.models import AuditEvent, User

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sealed(settings: Any) -> None:
    settings.MFA_ADAPTER = "watchbook.core.accounts.adapter.MfaAdapter"


def code_for(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time()))))


def confirm_it_is_me(client: Client) -> None:
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})


@pytest.fixture
def protected(alice: User) -> tuple[Client, str]:
    client = client_of(alice)
    confirm_it_is_me(client)
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    answer = client.post("/accounts/2fa/totp/activate/", {"code": code_for(secret)})
    assert answer.url == "/accounts/2fa/recovery-codes/"
    return client, secret


def test_switching_on_asks_for_the_password_first(alice: User) -> None:
    assert client_of(alice).get("/accounts/2fa/totp/activate/").url.startswith("/accounts/reauthenticate/")


def test_sign_in_asks_for_the_code(protected: tuple[Client, str], sign_in: Any, settings: Any) -> None:
    client = Client()
    assert sign_in(client, "alice@example.com", PASSWORD).url == "/accounts/2fa/authenticate/"
    assert client.get("/account/").status_code == 302
    assert client.get("/accounts/2fa/authenticate/").status_code == 200
    wrong = client.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert wrong.status_code == 200
    assert AuditEvent.objects.filter(event="mfa.failed").count() == 1


def test_recovery_code_works_once(protected: tuple[Client, str], sign_in: Any) -> None:
    owner, _secret = protected
    code = owner.get("/accounts/2fa/recovery-codes/").context["unused_codes"][0]
    for expected in (302, 200):
        client = Client()
        sign_in(client, "alice@example.com", PASSWORD)
        assert client.post("/accounts/2fa/authenticate/", {"code": code}).status_code == expected


def test_wrong_codes_are_counted(protected: tuple[Client, str], sign_in: Any) -> None:
    client = Client()
    sign_in(client, "alice@example.com", PASSWORD)
    answers = [client.post("/accounts/2fa/authenticate/", {"code": f"{n:06}"}) for n in range(7)]
    assert "Too many attempts" in answers[-1].content.decode()


def test_on_codes_and_off_are_one_row_each(protected: tuple[Client, str], alice: User) -> None:
    client, _secret = protected
    confirm_it_is_me(client)
    assert client.get("/accounts/2fa/").status_code == 200
    assert client.get("/accounts/2fa/totp/deactivate/").status_code == 200
    client.post("/accounts/2fa/recovery-codes/generate/")
    client.post("/accounts/2fa/totp/deactivate/")
    assert not Authenticator.objects.exists()
    counted = {event: AuditEvent.objects.filter(event=event).count() for event in ("mfa.on", "mfa.codes", "mfa.off")}
    assert counted == {"mfa.on": 1, "mfa.codes": 2, "mfa.off": 1}


def test_deleting_the_account_is_one_event(protected: tuple[Client, str], operator: User) -> None:
    client, _secret = protected
    client.post("/account/delete/", {"password": PASSWORD})
    assert not User.objects.filter(email="alice@example.com").exists()
    assert AuditEvent.objects.filter(event="account.deleted").count() == 1
    assert not AuditEvent.objects.filter(event="mfa.off").exists()


def test_secrets_are_encrypted_at_rest(protected: tuple[Client, str]) -> None:
    _client, secret = protected
    kept = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in kept
    assert "v2:" in kept


def test_lost_key_signs_no_user_in(protected: tuple[Client, str], settings: Any) -> None:
    _client, secret = protected
    settings.SECRETS_KEYS = {"other": "k" * 40}
    adapter = MfaAdapter()
    sealed = Authenticator.objects.get(type="totp").data["secret"]
    opened = adapter.decrypt(sealed)
    assert opened not in {"", secret}
    assert adapter.decrypt(sealed) != opened
    authenticator = Authenticator.objects.get(type="totp")
    assert not authenticator.wrap().validate_code(code_for(secret))


def test_passkey_is_renamed_by_its_owner_only(alice: User, bob: User) -> None:
    key = Authenticator.objects.create(
        user=alice, type=Authenticator.Type.WEBAUTHN, data={"name": "Key", "credential": {}}
    )
    address = f"/accounts/2fa/passkeys/{key.pk}/rename/"
    owner, other = client_of(alice), client_of(bob)
    assert owner.post(address, {"name": "Phone"}).url.startswith("/accounts/reauthenticate/")
    for client in (owner, other):
        confirm_it_is_me(client)
    assert other.post(address, {"name": "Mine"}).status_code == 404
    assert owner.post(address, {"name": "x" * 101}).status_code == 200
    assert owner.get(address).context["form"]["name"].value() == "Key"
    assert owner.post(address, {"name": "Phone"}).url == "/accounts/2fa/passkeys/"
    key.refresh_from_db()
    assert key.data["name"] == "Phone"
    assert AuditEvent.objects.filter(event="passkey.renamed").count() == 1


def test_challenge_of_a_passkey_is_given_before_signing_in() -> None:
    answer = Client().get("/accounts/2fa/passkeys/login/", headers={"Accept": "application/json"})
    assert answer.json()["request_options"]["publicKey"]["challenge"]
    assert Client().get("/accounts/2fa/passkeys/login/").url == "/accounts/login/"
