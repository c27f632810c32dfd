"""The mail server itself, with everything it was given."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from standins.smtp_sink.message import Message
from standins.smtp_sink.script import MailRule, Script, Stage
from standins.smtp_sink.session import Command, Session
from standins.tcp import Connection, TcpServer
from standins.waitable_list import WaitableList


class SmtpSink(TcpServer):
    """`tls` is a server-side SSLContext. STARTTLS is offered when there is one, unless set otherwise: `refuse`
    offers it and says no, `broken` says yes and then talks nonsense. With `users` only they may send."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        starttls: Literal["offer", "refuse", "broken", "absent"] | None = None,
        needs_tls: bool = False,
        speaks_tls_at_once: bool = False,
        users: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(host=host, port=port)
        self.tls = tls
        self.starttls = starttls or ("offer" if tls and not speaks_tls_at_once else "absent")
        self.needs_tls = needs_tls
        self.speaks_tls_at_once = speaks_tls_at_once
        self.users = dict(users or {})
        self.script = Script()
        self.journal: WaitableList[Message] = WaitableList()
        self.commands: WaitableList[Command] = WaitableList()

    def on(
        self,
        recipient: str = "*",
        *,
        stage: Stage = "rcpt",
        nth: int | Collection[int] | None = None,
        first: int | None = None,
        from_nth: int | None = None,
    ) -> MailRule:
        """Script trouble. Stages: connect, helo, starttls, auth, mail, rcpt, data, end (the whole mail has come)."""
        return self.script.on(recipient, stage=stage, nth=nth, first=first, from_nth=from_nth)

    def messages(self, to: str | None = None) -> list[Message]:
        """What was kept, lost replies included, refused mails not."""
        return [
            message
            for message in self.journal.all()
            if message.outcome != "refused" and (to is None or to in message.recipients)
        ]

    def attempts(self, message_id: str) -> list[Message]:
        """Every time this mail came in full, whatever was answered."""
        return [message for message in self.journal.all() if message.message_id == message_id]

    def wait_for(self, predicate: Callable[[list[Message]], object], timeout: float = 5.0) -> list[Message]:
        """Wait until the predicate holds for all mails that came in full; returns them or raises TimeoutError."""
        return self.journal.wait_for(predicate, timeout)

    def clear(self) -> None:
        """Clear mails, commands and scripts."""
        self.journal.clear()
        self.commands.clear()
        self.script.clear()

    def serve(self, connection: Connection) -> None:
        if self.speaks_tls_at_once and self.tls is not None:
            connection.start_tls(self.tls)
        Session(self, connection).run()

    def note(self, command: Command) -> None:
        self.commands.add(command)

    def keep(self, message: Message) -> None:
        """Called by a session; the message gets its number and its attempt here."""
        with self.journal.changed:
            earlier = [other for other in self.attempts(message.message_id) if _same_people(other, message)]
            self.journal.add(replace(message, number=len(self.journal) + 1, attempt=len(earlier) + 1))

    def actions(self) -> dict[str, Callable[..., Any]]:
        return {"on": self.script.on_json, "lift": self.script.clear, "clear": self.clear}

    def ledger_json(self) -> object:
        return {
            "messages": [message.as_json() for message in self.journal.all()],
            "commands": [command._asdict() for command in self.commands.all()],
        }


def _same_people(one: Message, other: Message) -> bool:
    return set(one.recipients) == set(other.recipients)
