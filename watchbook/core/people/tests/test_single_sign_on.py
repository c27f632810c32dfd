"""OpenID Connect against an honest provider, and against one that lies in every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing.people import PASSWORD, client_of, make_person
from watchbook.core.accounts.models import AuditEvent, User
from watchbook.core.people import groups, invitations
from watchbook.core.people.models import ExternalIdentity
from watchbook.core.people.tests.conftest import shown
from watchbook.core.people.tests.lying_provider import CLIENT, SECRET, Provider, running, unsigned

pytestmark = pytest.mark.django_db

Claims = dict[str, Any]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with running() as made:
        made.now = clock.now().timestamp()
        cache.clear()
        for name, value in {
            "WATCHBOOK_OIDC_ISSUER": made.url,
            "WATCHBOOK_OIDC_CLIENT_ID": CLIENT,
            "WATCHBOOK_OIDC_CLIENT_SECRET": SECRET,
            "WATCHBOOK_OIDC_NAME": "Harbour login",
            "WATCHBOOK_TRUSTED_HOSTS": urlsplit(made.url).netloc,
            "WATCHBOOK_PACE": "off",
        }.items():
            monkeypatch.setenv(name, value)
        yield made


def sign_in(provider: Provider, client: Client | None = None, path: str = "/accounts/oidc/") -> tuple[Client, Any]:
    client = client or Client()
    begun = client.get(path)
    assert begun.status_code == 302, begun.content[:300]
    return client, client.get(provider.authorise(begun["Location"]))


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_new_user_gets_an_account_and_comes_back_to_it(provider: Provider) -> None:
    client, answer = sign_in(provider, path="/accounts/oidc/?next=/account/")
    assert answer["Location"] == "/account/"
    assert is_signed_in(client)
    ann = User.objects.get(email="ann@example.com")
    assert (ann.is_verified, ann.is_staff, ann.has_usable_password()) == (True, False, False)
    # The subject counts, not the address: it may change at the provider.
    provider.person["email"] = "ann.new@example.com"
    _client, again = sign_in(provider)
    assert again["Location"] == "/"
    assert User.objects.count() == 1
    assert provider.ledger[:4] == [
        "GET /.well-known/openid-configuration", "POST /token", "GET /jwks", "GET /userinfo"
    ]  # fmt: skip
    assert provider.forms[0]["code_verifier"]
    assert "client_secret" not in provider.forms[0]
    events = set(AuditEvent.objects.values_list("event", flat=True))
    assert {"account.signed_up", "sso.connected", "login.ok"} <= events


LIES: dict[str, Callable[[Provider], None]] = {
    "wrong nonce": lambda p: setattr(p, "token", lambda c: {**c, "nonce": "other"}),
    "no nonce": lambda p: setattr(p, "token", lambda c: {k: v for k, v in c.items() if k != "nonce"}),
    "wrong audience": lambda p: setattr(p, "token", lambda c: {**c, "aud": "another client"}),
    "no audience": lambda p: setattr(p, "token", lambda c: {k: v for k, v in c.items() if k != "aud"}),
    "two audiences without azp": lambda p: setattr(p, "token", lambda c: {**c, "aud": [CLIENT, "other"]}),
    "azp of another": lambda p: setattr(p, "token", lambda c: {**c, "azp": "other"}),
    "wrong issuer": lambda p: setattr(p, "token", lambda c: {**c, "iss": "https://evil.example.com"}),
    "algorithm none": lambda p: setattr(p, "sign", unsigned),
    "signed with the secret": lambda p: setattr(p, "sign", lambda c: jwt.encode(c, SECRET * 3, "HS256")),
    "signed with another key": lambda p: setattr(
        p, "sign", lambda c: jwt.encode(c, rsa.generate_private_key(65537, 2048), "RS256", headers={"kid": "k1"})
    ),
    "unknown key": lambda p: setattr(
        p, "sign", lambda c: jwt.encode(c, rsa.generate_private_key(65537, 2048), "RS256", headers={"kid": "zz"})
    ),
    "no token": lambda p: setattr(p, "sign", lambda c: ""),
    "garbage": lambda p: setattr(p, "sign", lambda c: "a.b.c"),
    "expired": lambda p: setattr(p, "token", lambda c: {**c, "exp": p.now - 120}),
    "no exp": lambda p: setattr(p, "token", lambda c: {k: v for k, v in c.items() if k != "exp"}),
    "exp not a number": lambda p: setattr(p, "token", lambda c: {**c, "exp": float("nan")}),
    "exp as text": lambda p: setattr(p, "token", lambda c: {**c, "exp": str(p.now + 300)}),
    "issued in the future": lambda p: setattr(p, "token", lambda c: {**c, "iat": p.now + 3600}),
    "issued long ago": lambda p: setattr(p, "token", lambda c: {**c, "iat": p.now - 7200}),
    "no iat": lambda p: setattr(p, "token", lambda c: {k: v for k, v in c.items() if k != "iat"}),
    "not valid yet": lambda p: setattr(p, "token", lambda c: {**c, "nbf": p.now + 3600}),
    "no sub": lambda p: setattr(p, "token", lambda c: {k: v for k, v in c.items() if k != "sub"}),
    "sub as number": lambda p: setattr(p, "token", lambda c: {**c, "sub": 7}),
    "another sub at userinfo": lambda p: setattr(p, "userinfo", lambda c: {**c, "sub": "victim"}),
    "email_verified as text": lambda p: setattr(p, "userinfo", lambda c: {**c, "email_verified": "true"}),
    "email_verified false": lambda p: setattr(p, "userinfo", lambda c: {**c, "email_verified": False}),
    "email_verified missing": lambda p: setattr(p, "userinfo", lambda c: {"sub": c["sub"], "email": c["email"]}),
    "email as list": lambda p: setattr(p, "userinfo", lambda c: {**c, "email": ["ann@example.com"]}),
    "another issuer in discovery": lambda p: setattr(p, "configuration", lambda f: {**f, "issuer": "https://e.vil"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_lying_provider_signs_no_one_in(provider: Provider, lie: str) -> None:
    make_person("ann")  # the account that a lie would open
    LIES[lie](provider)
    client = Client()
    begun = client.get("/accounts/oidc/")
    if begun["Location"].startswith(provider.url):
        answer = client.get(provider.authorise(begun["Location"]))
        assert answer["Location"] == "/accounts/login/"
    assert not is_signed_in(client)
    assert not ExternalIdentity.objects.exists()
    assert AuditEvent.objects.filter(event="sso.failed").count() == 1


def test_rotated_key_is_asked_for_again(provider: Provider) -> None:
    sign_in(provider)
    provider.rotate()
    client, _answer = sign_in(provider)
    assert is_signed_in(client)
    assert provider.ledger.count("GET /jwks") == 2
    # Within a minute, an unknown key does not make us ask again and again.
    provider.sign = lambda claims: jwt.encode(claims, provider.keys[provider.kid], "RS256", headers={"kid": "zz"})
    sign_in(provider)
    assert provider.ledger.count("GET /jwks") == 2


def test_callback_is_used_once_and_belongs_to_its_browser(provider: Provider) -> None:
    client = Client()
    address = provider.authorise(client.get("/accounts/oidc/")["Location"])
    assert not is_signed_in(_visited(Client(), address))
    wrong = address.replace("state=", "state=x")
    assert not is_signed_in(_visited(client, wrong))
    # The wrong state used up the request.
    assert not is_signed_in(_visited(client, address))


def _visited(client: Client, address: str) -> Client:
    assert client.get(address)["Location"] == "/accounts/login/"
    return client


def test_account_is_connected_only_by_a_confirmed_address(provider: Provider) -> None:
    ann = User.objects.create_user("ann@example.com", PASSWORD)
    client, _answer = sign_in(provider)
    assert not is_signed_in(client)
    from watchbook.core.accounts import actions

    actions.confirm_email(ann, actor=None)
    client, _answer = sign_in(provider)
    assert is_signed_in(client)
    assert ExternalIdentity.objects.get().user == ann


def test_disabled_account_and_closed_server_are_refused(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_OIDC_CREATE", "off")
    client, _answer = sign_in(provider)
    assert not is_signed_in(client)
    ann = make_person("ann")
    User.objects.filter(pk=ann.pk).update(is_active=False)
    client, _answer = sign_in(provider)
    assert not is_signed_in(client)


def test_groups_claim_gives_operator_and_groups(
    provider: Provider, operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHBOOK_OIDC_GROUPS_CLAIM", "groups")
    monkeypatch.setenv("WATCHBOOK_OIDC_OPERATOR_GROUP", "watchbook-ops")
    harbour, press = (groups.create(name, actor=operator) for name in ("Harbour", "Press"))
    provider.person["groups"] = ["harbour", "watchbook-ops", "unknown"]  # type: ignore[assignment]
    sign_in(provider)
    ann = User.objects.get(email="ann@example.com")
    assert ann.is_staff
    assert [member.group for member in ann.group_memberships.all()] == [harbour]
    groups.add_member(press, ann, actor=operator)
    provider.person["groups"] = []  # type: ignore[assignment]
    sign_in(provider)
    ann.refresh_from_db()
    assert not ann.is_staff
    # Press was given by hand.
    assert [member.group for member in ann.group_memberships.all()] == [press]


def test_only_this_way_in_refuses_passwords(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    make_person("ann")
    assert "Harbour login" in shown(Client().get("/accounts/login/"))
    monkeypatch.setenv("WATCHBOOK_OIDC_ONLY", "on")
    page = shown(Client().get("/accounts/login/"))
    assert 'name="password"' not in page
    assert "Harbour login" in page
    client = Client()
    client.post("/accounts/login/", {"login": "ann@example.com", "password": PASSWORD})
    assert not is_signed_in(client)
    assert Client().get("/accounts/password/reset/")["Location"] == "/accounts/login/"
    client, _answer = sign_in(provider)
    assert is_signed_in(client)


def test_sign_out_offers_to_sign_out_at_the_provider(provider: Provider) -> None:
    client, _answer = sign_in(provider)
    answer = client.post("/accounts/logout/")
    assert answer["Location"] == "/accounts/oidc/signed-out/"
    page = shown(client.get(answer["Location"]))
    assert f"{provider.url}/bye?client_id={CLIENT}" in page
    assert not is_signed_in(client)
    assert client_of(make_person("bob")).post("/accounts/logout/")["Location"] != "/accounts/oidc/signed-out/"


def test_provider_that_is_away_is_named(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_OIDC_ISSUER", "http://127.0.0.1:9")
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "127.0.0.1:9")
    client = Client()
    assert client.get("/accounts/oidc/")["Location"] == "/accounts/login/"
    assert "does not respond" in shown(client.get("/accounts/login/"))
    monkeypatch.setenv("WATCHBOOK_OIDC_ISSUER", "http://10.0.0.5")
    client.get("/accounts/oidc/")
    assert AuditEvent.objects.filter(event="sso.failed").count() == 2


def test_settings_page_and_doctor_ask_the_provider(provider: Provider, operator: Any) -> None:
    page = shown(client_of(operator).post("/operations/settings/sso/test/"))
    assert f"The provider responds as {provider.url}." in page
    assert "It publishes 1 keys." in page
    assert SECRET not in page


@pytest.mark.parametrize("address", ["ann@example.com", ""], ids=["by e-mail", "by link"])
def test_invitation_is_accepted_after_single_sign_on(
    provider: Provider, operator: Any, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Also where the provider alone opens no account."""
    monkeypatch.setenv("WATCHBOOK_OIDC_ONLY", "on")
    monkeypatch.setenv("WATCHBOOK_OIDC_CREATE", "off")
    group = groups.create("Harbour", actor=operator)
    wanted = invitations.Wanted(email=address, group=group)
    _made, token = invitations.invite(wanted, actor=operator)
    path = f"/invite/{token}/"
    assert f"/accounts/oidc/?next={path}" in shown(Client().get(path))
    client, answer = sign_in(provider, path=f"/accounts/oidc/?next={path}")
    assert answer["Location"] == path
    client.post(path)
    assert [member.user.email for member in group.members.all()] == ["ann@example.com"]


@pytest.mark.parametrize("wrong", ["other address", "revoked", "used", "made up"])
def test_invitation_that_is_not_valid_opens_no_account(
    provider: Provider, operator: Any, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("WATCHBOOK_OIDC_CREATE", "off")
    address = "someone@example.com" if wrong == "other address" else ""
    made, token = invitations.invite(invitations.Wanted(email=address), actor=operator)
    if wrong == "revoked":
        invitations.revoke(made, actor=operator)
    elif wrong == "used":
        invitations.accept(made, make_person("bob"))
    client, _answer = sign_in(provider, path=f"/accounts/oidc/?next=/invite/{'x' if wrong == 'made up' else token}/")
    assert not is_signed_in(client)
    assert not User.objects.filter(email="ann@example.com").exists()
