"""Which request meets which fault. The newest rule that fits wins; each rule counts its own requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Self

from standins.faults.bodies import BodyVerbs
from standins.faults.redirects import RedirectVerbs
from standins.faults.transport import TransportVerbs
from standins.faults.treatment import Treatment, as_bytes
from standins.messages import Request
from standins.occurrences import Counted, Which
from standins.tcp import Connection

# True lets the connection continue, False ends it.
Mood = Callable[[Connection], bool]


@dataclass(frozen=True, kw_only=True)
class Where:
    """Which requests a rule matches; everything given must fit."""

    path: str = "*"
    method: str | None = None
    encrypted: bool | None = None
    when: Callable[[Request], bool] | None = None

    def fits(self, request: Request) -> bool:
        return (
            (self.path in (request.path, request.target) or fnmatchcase(request.path, self.path))
            and self.method in (None, request.method)
            and self.encrypted in (None, request.is_encrypted)
            and (self.when is None or self.when(request))
        )


class Rule(Counted, TransportVerbs, BodyVerbs, RedirectVerbs):
    """For these requests. Say a verb on it to decide what happens."""

    def __init__(self, where: Where, number: int, which: Which, lift: Callable[[int], None]) -> None:
        super().__init__(number, which, lift)
        self.where = where
        self.treatment: Treatment | None = None

    def treat(self, treatment: Treatment) -> Self:
        self.treatment = treatment
        return self


class ConnectionRule(Counted):
    """For whole connections, before TLS and before the first request."""

    mood: Mood | None = None

    def hang(self) -> Self:
        """Accept and say nothing; on a TLS site the handshake stalls."""
        return self._set(lambda connection: connection.wait_until_left())

    def reset(self) -> Self:
        return self._set(lambda connection: connection.reset())

    def close(self) -> Self:
        return self._set(lambda connection: connection.close())

    def say(self, words: bytes | str) -> Self:
        """These bytes to every client that connects, unasked; on a TLS site that is garbage instead of a handshake."""
        return self._set(lambda connection: connection.send(as_bytes(words)))

    def delay(self, seconds: float) -> Self:
        self.mood = lambda connection: connection.wait(seconds)
        return self

    def _set(self, act: Callable[[Connection], None]) -> Self:
        def mood(connection: Connection) -> bool:
            act(connection)
            return False

        self.mood = mood
        return self


class Faults:
    """All rules of one site."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._connection_rules: list[ConnectionRule] = []
        self._numbers = 0
        self._lock = threading.Lock()

    def on(
        self,
        path: str = "*",
        *,
        nth: int | Collection[int] | None = None,
        first: int | None = None,
        from_nth: int | None = None,
        method: str | None = None,
        encrypted: bool | None = None,
        when: Callable[[Request], bool] | None = None,
    ) -> Rule:
        """`path` is exact, with its query, or a pattern with * and ?. Requests are counted from now on."""
        where = Where(path=path, method=method, encrypted=encrypted, when=when)
        with self._lock:
            self._numbers += 1
            rule = Rule(where, self._numbers, Which(nth=nth, first=first, from_nth=from_nth), self.clear)
            self._rules.insert(0, rule)
            return rule

    def on_connection(
        self, *, nth: int | Collection[int] | None = None, first: int | None = None, from_nth: int | None = None
    ) -> ConnectionRule:
        with self._lock:
            self._numbers += 1
            rule = ConnectionRule(self._numbers, Which(nth=nth, first=first, from_nth=from_nth), self.clear)
            self._connection_rules.insert(0, rule)
            return rule

    def clear(self, number: int | None = None) -> None:
        """Lift one rule, or all."""
        with self._lock:
            self._rules = [rule for rule in self._rules if number not in (None, rule.number)]
            self._connection_rules = [rule for rule in self._connection_rules if number not in (None, rule.number)]

    def pick(self, request: Request) -> Treatment | None:
        with self._lock:
            due = [rule for rule in self._rules if rule.where.fits(request) and rule.is_due() and rule.treatment]
            if not due:
                return None
            due[0].hits += 1
            return due[0].treatment

    def pick_for_connection(self) -> Mood | None:
        with self._lock:
            due = [rule for rule in self._connection_rules if rule.is_due() and rule.mood]
            if not due:
                return None
            due[0].hits += 1
            return due[0].mood

    def add_json(self, script: dict[str, Any]) -> int:
        """{"on": {...}, "do": verb, "with": {...}}; "on": {"connection": true} scripts connections."""
        where = dict(script.get("on", {}))
        whole_connection = where.pop("connection", False)
        rule: Rule | ConnectionRule = self.on_connection(**where) if whole_connection else self.on(**where)
        try:
            _say_verb(rule, script)
        except (TypeError, ValueError):
            rule.lift()
            raise
        return rule.number

    def as_json(self) -> list[dict[str, object]]:
        with self._lock:
            shown = [
                {"number": rule.number, "path": rule.where.path, "seen": rule.seen, "hits": rule.hits}
                for rule in self._rules
            ]
            return shown + [
                {"number": rule.number, "connection": True, "seen": rule.seen, "hits": rule.hits}
                for rule in self._connection_rules
            ]


def _say_verb(rule: Rule | ConnectionRule, script: dict[str, Any]) -> None:
    verb = str(script.get("do", ""))
    act = getattr(rule, verb, None)
    if verb.startswith("_") or verb in {"lift", "treat"} or not callable(act):
        raise ValueError(f"no such fault: {verb!r}")
    details = script.get("with", {})
    if isinstance(details, list):
        act(*details)
    else:
        act(**details)
