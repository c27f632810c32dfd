"""One user cannot take every thread with searches and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from watchbook.core.accounts.models import User
from watchbook.core.api import load
from watchbook.core.api.load import Fair, Running

ONE, OTHER = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    monkeypatch.setenv("WATCHBOOK_HEAVY_REQUESTS", "2")
    monkeypatch.setattr(load, "RUNNING", Running())
    return load.RUNNING


def found(_request: Any) -> HttpResponse:
    return HttpResponse("found")


def test_user_with_too_many_searches_is_refused_and_others_are_not(rf: Any, running: Running) -> None:
    answers = []

    def view(_request: Any) -> HttpResponse:
        # While a search runs, the same visitor sends the next one.
        answers.append(search(rf.get("/search/?q=x", REMOTE_ADDR=ONE)).status_code)
        return HttpResponse("found")

    search = Fair(view)
    assert search(rf.get("/search/?q=x", REMOTE_ADDR=ONE)).status_code == 200
    assert answers == [429, 200]  # the third, then the second; the first is above

    assert all(running.enter(f"at:{ONE}") for _ in range(2))
    refused = Fair(found)(rf.get("/api/v1/search?q=x", REMOTE_ADDR=ONE))
    assert (refused.status_code, refused["Retry-After"]) == (429, "2")
    assert Fair(found)(rf.get("/search/?q=x", REMOTE_ADDR=OTHER)).status_code == 200
    assert Fair(found)(rf.get("/search/?q=", REMOTE_ADDR=ONE)).status_code == 200
    assert running.of(f"at:{ONE}") == 2


@pytest.mark.parametrize("end", [lambda sent: b"".join(sent), lambda sent: sent.close()], ids=["sent", "never read"])
def test_export_counts_until_it_is_sent_or_closed(rf: Any, running: Running, end: Callable[[Any], Any]) -> None:
    response: Any = Fair(lambda _request: StreamingHttpResponse(iter([b"a", b"b"])))(
        rf.get("/jobs/?format=csv", REMOTE_ADDR=ONE)
    )
    assert running.of(f"at:{ONE}") == 1
    end(response)
    response.close()
    assert running.of(f"at:{ONE}") == 0


def test_token_beside_a_session_is_not_another_user(rf: Any, running: Running) -> None:
    """Pages do not read a token; any text in its header must not be a fresh account of searches."""
    request = rf.get("/search/?q=x", headers={"Authorization": "Bearer made-up"})
    request.user = User(pk=7)
    assert load.whose(request) == "user:7"
    request.user = None
    assert load.whose(request).startswith("token:")
