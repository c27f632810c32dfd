"""E2: guessing is slowed down per place and per account, and its victim is not kept out."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from watchbook.base.testing.people import PASSWORD
from watchbook.core.accounts import access
from watchbook.core.accounts.models import AuditEvent, User

pytestmark = pytest.mark.django_db


def fail(address: str, times: int, email: str = "alice@example.com", **extra: str) -> Any:
    answer = None
    for _ in range(times):
        answer = Client(REMOTE_ADDR=address, **extra).post(
            "/accounts/login/", {"login": email, "password": "wrong one"}
        )
    return answer


def is_slowed_down(answer: Any) -> bool:
    return answer.status_code == 429 or "Too many attempts" in str(answer.context["form"].errors)


def test_five_failures_from_one_place_are_enough(alice: User, sign_in: Any) -> None:
    assert not is_slowed_down(fail("203.0.113.5", 5))
    assert is_slowed_down(fail("203.0.113.5", 1))
    right = sign_in(Client(REMOTE_ADDR="203.0.113.5"), "alice@example.com", PASSWORD)
    assert is_slowed_down(right)


def test_many_accounts_from_one_place_are_slowed_down_too(alice: User) -> None:
    answers = [fail("203.0.113.5", 1, email=f"person{n}@example.com") for n in range(12)]
    assert not is_slowed_down(answers[0])
    assert is_slowed_down(answers[-1])


@pytest.mark.parametrize("name", ["HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_CLIENT_IP"])
def test_made_up_headers_do_not_start_afresh(name: str, alice: User) -> None:
    fail("203.0.113.5", 5)
    for n in range(3):
        assert is_slowed_down(fail("203.0.113.5", 1, **{name: f"198.51.100.{n}"}))


def test_another_host_name_does_not_start_afresh(alice: User) -> None:
    fail("203.0.113.5", 5, HTTP_HOST="127.0.0.1")
    assert is_slowed_down(fail("203.0.113.5", 1, HTTP_HOST="localhost"))


def test_owner_can_sign_in_while_another_client_fails(alice: User, sign_in: Any) -> None:
    fail("203.0.113.5", 9)
    assert sign_in(Client(REMOTE_ADDR="198.51.100.1"), "alice@example.com", PASSWORD).url == "/"


def test_guessing_from_many_places_is_slowed_down_and_a_reset_opens_again(
    alice: User, sign_in: Any, link_in_mail: Any
) -> None:
    for _ in range(100):
        access.count_use("login", "alice@example.com", seconds=3600)
    owner = Client(REMOTE_ADDR="198.51.100.1")
    assert is_slowed_down(sign_in(owner, "alice@example.com", PASSWORD))
    owner.post("/accounts/password/reset/", {"email": "alice@example.com"})
    form = owner.get(link_in_mail(), follow=True)
    owner.post(form.request["PATH_INFO"], {"password1": "another long secret", "password2": "another long secret"})
    assert sign_in(owner, "alice@example.com", "another long secret").url == "/"


def test_counts_are_in_the_shared_cache_not_in_the_process(alice: User) -> None:
    fail("203.0.113.5", 5)
    cache.close()
    assert type(cache._connections[cache._alias]).__name__ in {"DatabaseCache", "RedisCache"}
    assert is_slowed_down(fail("203.0.113.5", 1))


def test_refused_attempts_leave_no_row(alice: User) -> None:
    fail("203.0.113.5", 9)
    assert AuditEvent.objects.filter(event="login.failed").count() == 5


def test_windows_pass(noon: Any) -> None:
    from datetime import timedelta

    from watchbook.base import clock

    assert [access.allow_use("x", "k", most=2, seconds=60) for _ in range(3)] == [True, True, False]
    assert access.allow_use("x", "other", most=2, seconds=60)
    with clock.set_to(noon + timedelta(seconds=60)):
        assert access.allow_use("x", "k", most=2, seconds=60)
    access.forget_uses("x", "k", seconds=60)
    assert access.uses("x", "k", seconds=60) == 0
