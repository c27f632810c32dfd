"""The control API under /_standin/: a test in another process reads the log and the ledger and scripts faults.

GET    /_standin/requests[?path=&after=]   what was asked        DELETE clears it
GET    /_standin/ledger                    what the site holds
GET    /_standin/faults                    rules in force         DELETE [?number=] lifts them
POST   /_standin/faults                    {"on": {"path": "/x", "nth": 2}, "do": "answer", "with": {"status": 503}}
POST   /_standin/do/NAME                   {...} calls one of the site's own actions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from standins.messages import Answer, Request

if TYPE_CHECKING:
    from standins.server import Site

PREFIX = "/_standin/"


def respond(site: Site, request: Request) -> Answer:
    name = request.path.removeprefix(PREFIX)
    desk = DESKS.get((request.method, name.partition("/")[0]))
    if desk is None:
        return _refusal(f"no such desk: {request.method} {request.path}", 404)
    try:
        return desk(site, request)
    except (KeyError, TypeError, ValueError) as error:
        return _refusal(f"{type(error).__name__}: {error}", 400)


def _show_requests(site: Site, request: Request) -> Answer:
    return Answer.json(site.log.as_json(request.params.get("path"), int(request.params.get("after", 0))))


def _forget_requests(site: Site, request: Request) -> Answer:
    site.log.clear()
    return Answer.json({"ok": True})


def _show_ledger(site: Site, request: Request) -> Answer:
    return Answer.json(site.ledger_json())


def _show_faults(site: Site, request: Request) -> Answer:
    return Answer.json({"faults": site.faults.as_json()})


def _add_fault(site: Site, request: Request) -> Answer:
    return Answer.json({"ok": True, "number": site.faults.add_json(request.json())})


def _lift_faults(site: Site, request: Request) -> Answer:
    number = request.params.get("number")
    site.faults.clear(int(number) if number else None)
    return Answer.json({"ok": True})


def _act(site: Site, request: Request) -> Answer:
    name = request.path.rpartition("/")[2]
    action = site.actions()[name]
    result = action(**(request.json() if request.body else {}))
    plain = isinstance(result, str | int | float | bool | list | dict | None)
    return Answer.json({"ok": True, "result": result if plain else str(result)})


def _refusal(message: str, status: int) -> Answer:
    return Answer.json({"ok": False, "error": message}, status)


DESKS: dict[tuple[str, str], Callable[[Site, Request], Answer]] = {
    ("GET", "requests"): _show_requests,
    ("DELETE", "requests"): _forget_requests,
    ("GET", "ledger"): _show_ledger,
    ("GET", "faults"): _show_faults,
    ("POST", "faults"): _add_fault,
    ("DELETE", "faults"): _lift_faults,
    ("POST", "do"): _act,
}
