"""The library through its own pages, as a browser asks for them: queries and processor time of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

# In the crowd: the piece that is shown after so many others.
DEEP_PIECE = 35


def measure(user: Any, there: dict[str, UUID], rounds: int) -> dict[str, dict[str, float]]:
    from django.test import Client

    from bench._nga_store import Clock

    client = Client()
    client.force_login(user)
    asked = _asked(client, user, there)
    found = {name: {"queries": _queries(name, call), "ms": 0.0} for name, call in asked.items()}
    clock = Clock()
    for _ in range(rounds):
        for name, call in asked.items():
            with clock.on(name):
                call()
    for name, cost in found.items():
        cost["ms"] = round(clock.cpu[name] * 1000 / rounds, 2)
    return found


def _asked(client: Any, user: Any, there: dict[str, UUID]) -> dict[str, Callable[[], Any]]:
    from django.urls import reverse

    from bench._library_peers import swing

    def page(name: str, act: str = "page", query: str = "") -> Callable[[], Any]:
        address = reverse(f"library:{act}", args=[there[name]]) + query
        return lambda: client.get(address)

    def move(name: str) -> Callable[[], Any]:
        address = reverse("library:move", args=[there[name]])
        return swing(lambda parent: client.post(address, {"parent": parent}), [str(there["crowd"]), ""])

    later = f"?cursor={_cursor(user, there['crowd'])}"
    return {
        "a small folder": page("small"),
        "a folder of 4,000, first piece": page("crowd"),
        f"a folder of 4,000, piece {DEEP_PIECE}": page("crowd", query=later),
        "tree below it, first piece": page("crowd", "page_tree"),
        f"tree below it, piece {DEEP_PIECE}": page("crowd", "page_tree", later),
        "the deepest page and its way": page("deep"),
        "move of the small subtree": move("small"),
        "move of the big subtree": move("big"),
        "search": lambda: client.get(reverse("library:search"), {"q": "高潮时间 42"}),
    }


def _cursor(user: Any, page_id: UUID) -> str:
    from watchbook.systems.library import actions

    cursor = ""
    for _ in range(DEEP_PIECE - 1):
        cursor = actions.list_children(user, page_id=page_id, limit=100, cursor=cursor).next
    return cursor


def _queries(name: str, call: Callable[[], Any]) -> int:
    """Of the second time: the first one pays for imports and caches. A move moves there and back."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    call()
    with CaptureQueriesContext(connection) as caught:
        answer = call()
    if answer is not None and answer.status_code not in (200, 204, 302):
        raise SystemExit(f"{name} answered {answer.status_code}")
    return len(caught)


def words_of(pages: dict[str, dict[str, float]]) -> list[str]:
    lines = [f"  {name:32} {cost['ms']:8.2f} ms  {cost['queries']:2.0f} queries" for name, cost in pages.items()]
    return ["over HTTP, by processor time:", *lines]
