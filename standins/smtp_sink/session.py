"""One talk between a sender and the sink: ESMTP as far as senders use it."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from standins.smtp_sink.message import Message, Outcome
from standins.smtp_sink.script import Stage
from standins.tcp import Connection

if TYPE_CHECKING:
    from standins.smtp_sink.sink import SmtpSink


class Command(NamedTuple):
    """One line of a sender and the code it got; 0 when it got none."""

    connection: int
    line: str
    code: int


class Over(Exception):
    """The talk ends here."""


class Session:
    def __init__(self, sink: SmtpSink, connection: Connection) -> None:
        self._sink = sink
        self._connection = connection
        self._line = ""
        self._user: str | None = None
        self._sender: str | None = None
        self._recipients: list[str] = []

    def run(self) -> None:
        try:
            if not self._trouble("connect"):
                self._reply(220, "stand-in ready")
            while line := self._connection.read_line():
                self._line = line.decode("utf-8", "surrogateescape").strip()
                self._obey()
        except Over:
            self._connection.close()

    def _obey(self) -> None:
        verb, _, rest = self._line.partition(" ")
        act = VERBS.get(verb.upper())
        if act is None:
            self._reply(502, "Command not known")
        else:
            act(self, rest.strip())

    def _helo(self, name: str) -> None:
        if self._trouble("helo"):
            return
        self._forget_mail()
        words = ["stand-in", *self._extensions()] if self._line[:4].upper() == "EHLO" else ["stand-in"]
        self._reply(250, *words)

    def _extensions(self) -> list[str]:
        sink = self._sink
        offered = ["SIZE 52428800", "8BITMIME", "SMTPUTF8", "PIPELINING"]
        if sink.starttls != "absent" and not self._connection.is_encrypted:
            offered.append("STARTTLS")
        if sink.users and (self._connection.is_encrypted or not sink.needs_tls):
            offered.append("AUTH PLAIN LOGIN")
        return offered

    def _starttls(self, _: str) -> None:
        if self._trouble("starttls"):
            return
        if self._sink.starttls == "absent":
            self._reply(502, "Command not known")
        elif self._sink.starttls == "refuse" or self._sink.tls is None:
            self._reply(454, "TLS not available")
        elif self._sink.starttls == "broken":
            self._reply(220, "Go ahead")
            self._connection.send(b"this is no handshake\r\n")
            raise Over
        else:
            self._reply(220, "Go ahead")
            self._connection.start_tls(self._sink.tls)
            self._forget_mail()

    def _auth(self, rest: str) -> None:
        if self._trouble("auth"):
            return
        kind, _, first = rest.partition(" ")
        try:
            if kind.upper() == "PLAIN":
                user, password = self._decoded(first or self._ask("")).split("\0")[1:]
            else:
                user = self._decoded(first or self._ask("Username:"))
                password = self._decoded(self._ask("Password:"))
        except (ValueError, binascii.Error):
            self._reply(501, "Cannot read that")
            return
        if self._sink.users.get(user) == password:
            self._user = user
            self._reply(235, "Welcome")
        else:
            self._reply(535, "Wrong name or password")

    def _ask(self, words: str) -> str:
        self._connection.send(b"334 " + base64.b64encode(words.encode()) + b"\r\n")
        return self._connection.read_line().decode().strip()

    def _decoded(self, words: str) -> str:
        return base64.b64decode(words, validate=True).decode()

    def _mail(self, rest: str) -> None:
        if self._trouble("mail"):
            return
        if self._sink.needs_tls and not self._connection.is_encrypted:
            self._reply(530, "STARTTLS first")
        elif self._sink.users and self._user is None:
            self._reply(530, "Authentication first")
        else:
            self._forget_mail()
            self._sender = _address(rest)
            self._reply(250, "OK")

    def _rcpt(self, rest: str) -> None:
        recipient = _address(rest)
        if self._sender is None:
            self._reply(503, "MAIL first")
        elif not self._trouble("rcpt", [recipient]):
            self._recipients.append(recipient)
            self._reply(250, "OK")

    def _data(self, _: str) -> None:
        if not self._recipients:
            self._reply(503, "RCPT first")
            return
        if self._trouble("data", self._recipients):
            return
        self._reply(354, "End with a dot")
        self._line = "(message)"
        self._end(self._read_message())

    def _read_message(self) -> bytes:
        lines: list[bytes] = []
        while (line := self._connection.read_line()) not in (b".\r\n", b".\n"):
            if not line:
                raise Over
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _end(self, raw: bytes) -> None:
        rule = self._sink.script.pick("end", self._recipients)
        kind = rule.kind if rule else None
        if kind not in {"disconnect", "hang"}:
            outcome: Outcome = "refused" if kind == "refuse" else "lost" if kind == "lose" else "accepted"
            self._sink.keep(self._message(raw, outcome))
        self._forget_mail()
        if rule is None:
            self._reply(250, "Kept")
        elif kind == "refuse":
            self._refuse(rule.code, rule.text)
        else:
            self._fall_silent(hang=kind == "hang")

    def _message(self, raw: bytes, outcome: Outcome) -> Message:
        return Message(
            connection=self._connection.number,
            sender=self._sender or "",
            recipients=tuple(self._recipients),
            raw=raw,
            monotonic=time.monotonic(),
            received_at=datetime.now(UTC),
            outcome=outcome,
            is_encrypted=self._connection.is_encrypted,
            user=self._user,
        )

    def _rset(self, _: str) -> None:
        self._forget_mail()
        self._reply(250, "OK")

    def _noop(self, _: str) -> None:
        self._reply(250, "OK")

    def _vrfy(self, _: str) -> None:
        self._reply(252, "Send and see")

    def _quit(self, _: str) -> None:
        self._reply(221, "Goodbye")
        raise Over

    def _forget_mail(self) -> None:
        self._sender = None
        self._recipients = []

    def _trouble(self, stage: Stage, recipients: list[str] | None = None) -> bool:
        """Play the trouble that is scripted for this stage, if any."""
        rule = self._sink.script.pick(stage, recipients or [])
        if rule is None:
            return False
        if rule.kind == "refuse":
            self._refuse(rule.code, rule.text)
        else:
            self._fall_silent(hang=rule.kind == "hang")
        return True

    def _refuse(self, code: int, text: str) -> None:
        self._reply(code, text)
        if code == 421:
            raise Over

    def _fall_silent(self, *, hang: bool) -> None:
        self._sink.note(Command(self._connection.number, self._line, 0))
        if hang:
            self._connection.wait_until_left()
        raise Over

    def _reply(self, code: int, *words: str) -> None:
        self._sink.note(Command(self._connection.number, self._line, code))
        lines = [f"{code}{'-' if at < len(words) else ' '}{text}\r\n" for at, text in enumerate(words, 1)]
        self._connection.send("".join(lines).encode())


def _address(rest: str) -> str:
    """The address in `FROM:<anna@example.com> SIZE=12`."""
    after = rest.partition(":")[2].strip()
    return after[1:].partition(">")[0] if after.startswith("<") else after.partition(" ")[0]


VERBS: dict[str, Callable[[Session, str], None]] = {
    "HELO": Session._helo,
    "EHLO": Session._helo,
    "STARTTLS": Session._starttls,
    "AUTH": Session._auth,
    "MAIL": Session._mail,
    "RCPT": Session._rcpt,
    "DATA": Session._data,
    "RSET": Session._rset,
    "NOOP": Session._noop,
    "VRFY": Session._vrfy,
    "QUIT": Session._quit,
}
