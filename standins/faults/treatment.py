"""The ground of all verbs: a verb hands its treatment to the rule it is said on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from standins.messages import Answer
from standins.wire import Exchange

Treatment = Callable[[Exchange], None]


class Verbs:
    """Verbs return the rule itself, so that it can be lifted or used in a `with`."""

    def treat(self, treatment: Treatment) -> Self:
        """Do anything at all with the exchange."""
        raise NotImplementedError

    def _instead(self, change: Callable[[Answer], Answer]) -> Self:
        """The ordinary answer, changed."""
        return self.treat(lambda exchange: exchange.send(change(exchange.ordinary())))

    def _say(self, answer: Answer) -> Self:
        return self.treat(lambda exchange: exchange.send(answer))


def as_bytes(body: bytes | str) -> bytes:
    return body.encode() if isinstance(body, str) else body
