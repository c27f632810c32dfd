"""Politeness: one at a time, spaced, paused when asked, across processes and after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from watchbook.base.web import client as shared
from watchbook.base.web import rate_limit
from watchbook.base.web.errors import Busy, ServerTrouble, Throttled
from watchbook.base.web.models import HostPace
from watchbook.base.web.rate_limit import RateRequest, Wait
from watchbook.base.web.tests.servers import RawServer, Seen, page

pytestmark = pytest.mark.django_db

Serve = Callable[..., RawServer]


def rate_request(site: str, **facts: Any) -> RateRequest:
    return RateRequest(site, **{"spacing_seconds": 0.0, "wait_seconds": 0.0, **facts})


def test_host_gets_one_request_at_a_time(kind: str, site: str) -> None:
    with rate_limit.acquire(rate_request(site)):
        with pytest.raises(Busy) as caught, rate_limit.acquire(rate_request(site)):
            pass
        assert caught.value.retry_after_seconds
        assert caught.value.is_temporary
        with rate_limit.acquire(rate_request("other-" + site)):
            pass
    with rate_limit.acquire(rate_request(site)):
        pass


def test_next_request_waits_for_the_interval(kind: str, site: str) -> None:
    with rate_limit.acquire(rate_request(site, spacing_seconds=50)):
        pass
    with pytest.raises(Busy) as caught, rate_limit.acquire(rate_request(site)):
        pass
    assert caught.value.retry_after_seconds is not None
    assert 40 < caught.value.retry_after_seconds <= 50


def test_caller_waits_and_gets_the_time_to_wait(kind: str, site: str) -> None:
    with rate_limit.acquire(rate_request(site, spacing_seconds=0.3)):
        pass
    with rate_limit.acquire(rate_request(site, wait_seconds=20)) as waited:
        assert waited > 0


def test_slot_is_released_after_an_error(kind: str, site: str) -> None:
    with pytest.raises(KeyError), rate_limit.acquire(rate_request(site)):
        raise KeyError
    with rate_limit.acquire(rate_request(site)):
        pass


def test_expired_lease_is_free_and_its_late_holder_changes_nothing(kind: str, site: str) -> None:
    kept = rate_limit.limiter_store()
    assert kept.claim(rate_request(site, lease_seconds=0.2), 1) is None
    with rate_limit.acquire(rate_request(site, wait_seconds=20)):
        kept.release(site, 1)  # the first holder wakes up too late
        with pytest.raises(Busy), rate_limit.acquire(rate_request(site)):
            pass


def test_pause_holds_for_one_account_at_one_host(kind: str, site: str) -> None:
    rate_limit.pause(site, 100, account="Anna")
    for account in ("", "anna", "Ben"):
        with rate_limit.acquire(rate_request(site, account=account)):
            pass
    with pytest.raises(Busy) as caught, rate_limit.acquire(rate_request(site, account="Anna")):
        pass
    assert caught.value.retry_after_seconds is not None
    assert 90 < caught.value.retry_after_seconds <= 100
    rate_limit.pause(site, 100)
    with pytest.raises(Busy), rate_limit.acquire(rate_request(site)):
        pass
    with rate_limit.acquire(rate_request(site, account="Ben")):
        pass


def test_shorter_pause_does_not_end_a_longer_one(kind: str, site: str) -> None:
    rate_limit.pause(site, 100)
    rate_limit.pause(site, 2)
    assert rate_limit.limiter_store().paused_for(site, "") > 50


def test_pause_is_at_most_a_day(kind: str, site: str) -> None:
    rate_limit.pause(site, 1e9)
    assert 86_000 < rate_limit.limiter_store().paused_for(site, "") <= 86_400


def test_pace_off_frees_trusted_hosts_only_and_pauses_still_hold(
    kind: str, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHBOOK_PACE", "off")
    trusted = rate_request(site, is_trusted=True, spacing_seconds=50)
    with rate_limit.acquire(trusted), rate_limit.acquire(trusted):
        pass
    with (
        rate_limit.acquire(rate_request(site, spacing_seconds=50)),
        pytest.raises(Busy),
        rate_limit.acquire(rate_request(site)),
    ):
        pass
    rate_limit.pause(site, 100)
    with pytest.raises(Busy), rate_limit.acquire(trusted):
        pass


def test_pace_is_off_for_a_trusted_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "127.0.0.1:8001")
    assert not rate_limit.is_disabled("http://127.0.0.1:8001/")
    monkeypatch.setenv("WATCHBOOK_PACE", "off")
    assert rate_limit.is_disabled("http://127.0.0.1:8001/")
    assert not rate_limit.is_disabled("http://example.com/")


def test_redis_that_does_not_answer_is_replaced_by_the_database(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    with rate_limit.acquire(rate_request(site)), pytest.raises(Busy), rate_limit.acquire(rate_request(site)):
        pass
    rate_limit.pause(site, 100)
    with pytest.raises(Busy), rate_limit.acquire(rate_request(site)):
        pass
    assert HostPace.objects.filter(host=site).exists()


@pytest.mark.parametrize("hours", [-24, -1])
def test_clock_set_back_does_not_stall_a_host(site: str, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = rate_limit.DatabaseLimiter()
    assert kept.claim(rate_request(site, spacing_seconds=5, lease_seconds=60), 1) is None
    real = time.time
    monkeypatch.setattr(rate_limit.time, "time", lambda: real() + hours * 3600)
    assert kept.claim(rate_request(site), 2) is None


def test_known_host_costs_two_queries(site: str, django_assert_num_queries: Callable[[int], Any]) -> None:
    with rate_limit.acquire(rate_request(site)):
        pass
    with django_assert_num_queries(2), rate_limit.acquire(rate_request(site)):
        pass


def test_site_is_not_asked_inside_a_transaction(site: str) -> None:
    with pytest.raises(RuntimeError, match="transaction"), transaction.atomic(), rate_limit.acquire(rate_request(site)):
        pass


def test_idle_hosts_are_deleted(site: str) -> None:
    with rate_limit.acquire(rate_request(site)):
        pass
    HostPace.objects.create(host="old.example", next_at_ms=1000)
    assert rate_limit.delete_idle() == 1
    assert HostPace.objects.filter(host=site).exists()


def test_wait_for_a_busy_host_may_end_early(site: str) -> None:
    kept = rate_limit.DatabaseLimiter()
    assert kept.claim(rate_request(site, lease_seconds=60), 1) is None
    wait = kept.claim(rate_request(site), 2)
    assert isinstance(wait, Wait)
    assert not wait.is_firm


@pytest.fixture
def get() -> Iterator[Callable[..., Any]]:
    yield shared.get
    shared._shared.close()


def test_throttled_account_is_paused_and_others_are_not(serve: Serve, get: Callable[..., Any]) -> None:
    def handler(request: Seen) -> bytes:
        return page() if request.target == "/fine" else page(b"", "429 Slow", retry_after="50")

    server = serve(handler)
    with pytest.raises(Throttled):
        get(server.url(), account="anna", spacing_seconds=0)
    with pytest.raises(Busy) as caught:
        get(server.url(), account="anna", spacing_seconds=0)
    assert caught.value.retry_after_seconds is not None
    assert 40 < caught.value.retry_after_seconds <= 50
    assert len(server.seen) == 1
    assert get(server.url("/fine"), account="ben", spacing_seconds=0).status == 200


def test_pause_holds_although_the_caller_reads_the_status_itself(serve: Serve, get: Callable[..., Any]) -> None:
    server = serve(lambda request: page(b"", "429 Slow", retry_after="50"))
    assert get(server.url(), raise_for_status=False, spacing_seconds=0).status == 429
    with pytest.raises(Busy):
        get(server.url(), spacing_seconds=0)


def test_error_pauses_a_host_only_with_retry_after(serve: Serve, get: Callable[..., Any]) -> None:
    server = serve(lambda request: page(b"", "503 Ill"))
    for _ in range(2):
        with pytest.raises(ServerTrouble):
            get(server.url(), spacing_seconds=0)
    ill = serve(lambda request: page(b"", "503 Ill", retry_after="50"))
    with pytest.raises(ServerTrouble) as caught:
        get(ill.url(), spacing_seconds=0)
    assert caught.value.retry_after_seconds == 50
    with pytest.raises(Busy):
        get(ill.url(), spacing_seconds=0)


def test_pages_of_one_host_are_a_second_apart_by_default(serve: Serve, get: Callable[..., Any]) -> None:
    server = serve(lambda request: page())
    get(server.url())
    with pytest.raises(Busy):
        get(server.url(), wait_seconds=0)
    assert len(server.seen) == 1


def test_waiting_for_the_rate_limit_does_not_use_the_deadline(serve: Serve, get: Callable[..., Any]) -> None:
    server = serve(lambda request: page())
    get(server.url(), spacing_seconds=1.2)
    assert get(server.url(), deadline_seconds=1.0, wait_seconds=20).status == 200
