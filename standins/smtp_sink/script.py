"""Scripted trouble: for a recipient, at a stage of the talk, for the n-th time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, Self, get_args

from standins.occurrences import Counted, Which

Stage = Literal["connect", "helo", "starttls", "auth", "mail", "rcpt", "data", "end"]
Kind = Literal["refuse", "hang", "disconnect", "lose"]
TEXTS = {421: "Service not available", 450: "Mailbox busy", 550: "No such mailbox", 554: "No thanks"}


class MailRule(Counted):
    """Say one of the verbs on it."""

    def __init__(self, recipient: str, stage: Stage, number: int, which: Which, lift: Callable[[int], None]) -> None:
        super().__init__(number, which, lift)
        self.recipient = recipient
        self.stage = stage
        self.kind: Kind | None = None
        self.code = 250
        self.text = ""

    def refuse(self, code: int = 550, text: str | None = None) -> Self:
        """Any reply; 421 also ends the connection."""
        self.kind, self.code, self.text = "refuse", code, text or TEXTS.get(code, "Refused")
        return self

    def hang(self) -> Self:
        self.kind = "hang"
        return self

    def disconnect(self) -> Self:
        """End the connection without a reply; at stage `end` the mail is not kept."""
        self.kind = "disconnect"
        return self

    def lose(self) -> Self:
        """At stage `end`: keep the mail, then end the connection before the sender hears of it."""
        if self.stage != "end":
            raise ValueError("a mail can only be lost at its end")
        self.kind = "lose"
        return self

    def fits(self, stage: Stage, recipients: Sequence[str]) -> bool:
        if stage != self.stage:
            return False
        return self.recipient == "*" or any(fnmatchcase(one.lower(), self.recipient) for one in recipients)


class Script:
    """All rules of one sink; the newest that fits wins."""

    def __init__(self) -> None:
        self._rules: list[MailRule] = []
        self._numbers = 0
        self._lock = threading.Lock()

    def on(
        self,
        recipient: str = "*",
        *,
        stage: Stage = "rcpt",
        nth: int | Collection[int] | None = None,
        first: int | None = None,
        from_nth: int | None = None,
    ) -> MailRule:
        if stage not in get_args(Stage):
            raise ValueError(f"no such stage: {stage!r}")
        with self._lock:
            self._numbers += 1
            which = Which(nth=nth, first=first, from_nth=from_nth)
            rule = MailRule(recipient.lower(), stage, self._numbers, which, self.clear)
            self._rules.insert(0, rule)
            return rule

    def on_json(self, do: Kind, details: dict[str, Any] | None = None, **where: Any) -> int:
        """For the control desk: a rule with its verb in one call."""
        if do not in get_args(Kind):
            raise ValueError(f"no such trouble: {do!r}")
        rule = self.on(**where)
        getattr(rule, do)(**(details or {}))
        return rule.number

    def clear(self, number: int | None = None) -> None:
        with self._lock:
            self._rules = [rule for rule in self._rules if number not in (None, rule.number)]

    def pick(self, stage: Stage, recipients: Sequence[str] = ()) -> MailRule | None:
        with self._lock:
            due = [rule for rule in self._rules if rule.fits(stage, recipients) and rule.is_due() and rule.kind]
            if not due:
                return None
            due[0].hits += 1
            return due[0]
