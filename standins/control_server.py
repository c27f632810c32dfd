"""A control API over HTTP for stand-ins that do not speak HTTP themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from standins.server import Answer, Request, Site


class Steerable(Protocol):
    def actions(self) -> dict[str, Callable[..., Any]]: ...

    def ledger_json(self) -> object: ...


class ControlServer(Site):
    """`GET /_standin/ledger` and `POST /_standin/do/NAME` for another stand-in."""

    def __init__(self, subject: Steerable, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.subject = subject

    def respond(self, request: Request) -> Answer:
        return Answer.json({"actions": sorted(self.actions()), "ledger": self.address("/_standin/ledger")})

    def actions(self) -> dict[str, Callable[..., Any]]:
        return self.subject.actions()

    def ledger_json(self) -> object:
        return self.subject.ledger_json()
