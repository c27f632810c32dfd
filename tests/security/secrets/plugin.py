"""A pytest plugin: every secret that any test of the suite makes is searched for in what that test leaves behind.

    make test-secrets

At the most talkative level, after each test and before it is undone: its log lines, every row of every table, the
cache, its mails, the answers with an error status, and the files in its folder. A hit is an error of that test. What
happens in processes of their own is searched in test_no_secret_leaks.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.security.secrets import search
from tests.security.secrets.search import Hunt

# A shorter one would be found in every text; nobody should have one.
SHORTEST = 12
PLACES = ("log lines", "rows", "cache entries", "mails", "error answers", "files")


class Watch:
    """What one test made and said."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}
        self.lines: list[str] = []
        self.answers: list[tuple[str, bytes]] = []
        self.mails: list[bytes] = []

    def add(self, kind: str, secret: str) -> None:
        if len(secret) >= SHORTEST:
            self.made[secret] = kind


class Totals:
    """Of this process; with several, the first one adds theirs to its own."""

    def __init__(self) -> None:
        self.secrets: Counter[str] = Counter()
        self.searched: Counter[str] = Counter()
        self.tests = 0

    def as_json(self) -> dict[str, Any]:
        return {"secrets": dict(self.secrets), "searched": dict(self.searched), "tests": self.tests}

    def add(self, other: dict[str, Any]) -> None:
        self.secrets.update(other["secrets"])
        self.searched.update(other["searched"])
        self.tests += other["tests"]


_watch = Watch()
_totals = Totals()


class Listener(logging.Handler):
    """Takes log lines as the installation would have written them."""

    def emit(self, record: logging.LogRecord) -> None:
        _watch.lines.append(self.format(record))


def pytest_configure() -> None:
    os.environ["WATCHBOOK_LOG_LEVEL"] = "DEBUG"  # of processes that tests start


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput") or not session.config.getoption("numprocesses", None):
        _listen()
        _see_secrets_being_made()
        _see_answers()


def _listen() -> None:
    from watchbook.base.logs import TextLines

    listener = Listener()
    listener.setFormatter(TextLines())
    logging.getLogger().addHandler(listener)
    logging.getLogger().setLevel(logging.DEBUG)


def _see_secrets_being_made() -> None:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.sessions.backends.base import SessionBase

    from watchbook.base.crypto import Cipher
    from watchbook.core.accounts import tokens
    from watchbook.systems.library.store import publish
    from watchbook.systems.notes import encryption

    def sealed(_own: Any, plain: str, *, bound_to: str) -> None:
        kind = re.split(r"[:\0]", bound_to)[0]
        if kind != "session":  # what a session holds is no secret, its key is one
            for part in _parts(plain):
                _watch.add(f"sealed for {kind}", part)

    _before(Cipher, "encrypt", sealed)
    _before(encryption, "close", lambda plain, **_: [_watch.add("cookie", part) for part in _parts(plain)])
    _before(AbstractBaseUser, "set_password", lambda _own, raw: _watch.add("password", raw or ""))
    _after(SessionBase, "_get_new_session_key", lambda key: _watch.add("session key", key))
    _after(tokens, "make", lambda made: _watch.add("token", made[1]))
    _after(publish, "share", lambda made: _watch.add("share link", made[1]))


def _parts(plain: str) -> Iterator[str]:
    """A configuration is a document in which some values are secret: long ones, and the tail of an address."""
    if plain[:1] not in ("{", "["):
        yield from (plain, *(piece.partition("=")[2].strip() for piece in plain.split(";") if "=" in piece))
        return
    leaves: list[Any] = [json.loads(plain)]
    while leaves:
        leaf = leaves.pop()
        if isinstance(leaf, dict | list):
            leaves += leaf.values() if isinstance(leaf, dict) else leaf
        elif isinstance(leaf, str) and "://" in leaf:
            yield from _tail(leaf)
        elif isinstance(leaf, str) and "@" not in leaf and re.search(r"[0-9]", leaf) and re.search(r"[A-Za-z]", leaf):
            yield leaf


def _tail(address: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(address)
        return parts.path.rpartition("/")[2], parts.query, parts.password or ""
    except ValueError:  # a test tries what is no address
        return ()


def _before(owner: Any, name: str, tell: Callable[..., Any]) -> None:
    real = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        tell(*args, **kwargs)
        return real(*args, **kwargs)

    setattr(owner, name, call)


def _after(owner: Any, name: str, tell: Callable[[Any], Any]) -> None:
    real = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        made = real(*args, **kwargs)
        tell(made)
        return made

    setattr(owner, name, call)


def _see_answers() -> None:
    from django.core.handlers.base import BaseHandler

    from standins.smtp_sink import SmtpSink

    real = BaseHandler.get_response

    def get_response(self: BaseHandler, request: Any) -> Any:
        answer = real(self, request)
        if answer.status_code >= 400 and not answer.streaming:
            _watch.answers.append((f"{answer.status_code} {request.path}", answer.content))
        return answer

    BaseHandler.get_response = get_response  # type: ignore[method-assign]
    _after(SmtpSink, "messages", lambda mails: _watch.mails.extend(mail.raw for mail in mails))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Before the test's rows are rolled back and its folder goes; told when the test has been put away."""
    global _watch
    watch, _watch = _watch, Watch()
    _totals.tests += 1
    _totals.secrets.update(watch.made.values())
    is_meant = item.get_closest_marker("plants_secrets") is not None
    found = _search(item, watch) if watch.made and not is_meant else {}
    yield
    assert found == {}, f"secrets of this test were left in the clear: {found}"


def _search(item: pytest.Item, watch: Watch) -> dict[str, set[str]]:
    hunt = Hunt()
    for secret, kind in watch.made.items():
        hunt.add(kind, secret)
    found: dict[str, set[str]] = {}

    def look(place: str, what: str, data: bytes | str) -> None:
        _totals.searched[place] += 1
        if kinds := hunt.search(data):
            found[f"{place}: {what}"] = kinds

    for line in watch.lines:
        look("log lines", line[:300], line)
    for name, content in watch.answers:
        look("error answers", name, content)
    for mail in (*watch.mails, *_kept_mails()):
        look("mails", mail[:100].decode("utf-8", "replace"), mail)
    for table, row in _rows(item):
        look("rows", table, row)
    for key, value in _cache_entries(item):
        look("cache entries", key, value)
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    for path in sorted(Path(folder).rglob("*")) if folder else ():
        if path.is_file() and "keys" not in path.parts:
            look("files", str(path), path.read_bytes())
    return found


def _kept_mails() -> list[bytes]:
    from django.core import mail

    return [message.message().as_bytes() for message in getattr(mail, "outbox", [])]


def _rows(item: pytest.Item) -> Iterator[tuple[str, str]]:
    from django.db import connection

    from watchbook.base.testing.environment import touches_database

    if not touches_database(item) or connection.needs_rollback:
        return
    with connection.cursor() as cursor:
        for table in set(connection.introspection.table_names(cursor)) - _virtual(connection.vendor, cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            for row in cursor.fetchall():
                yield table, "\n".join(_text(cell) for cell in row if cell is not None)


def _virtual(vendor: str, cursor: Any) -> set[str]:
    """A virtual table keeps what it holds in tables of its own, which are looked at as well."""
    if vendor != "sqlite":
        return set()
    cursor.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'")
    return {name for (name,) in cursor.fetchall()}


def _text(cell: Any) -> str:
    return bytes(cell).decode("latin-1") if isinstance(cell, bytes | memoryview) else str(cell)


def _cache_entries(item: pytest.Item) -> Iterator[tuple[str, bytes]]:
    address = os.environ.get("TEST_REDIS_URL")
    # A test that watches every connection would see ours.
    if not address or "witness" in getattr(item, "fixturenames", ()):
        return
    import redis  # only where a test has asked for it

    with redis.Redis.from_url(address) as client:
        yield from search.redis_entries(client)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["secrets"] = _totals.as_json()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _totals.add(node.workeroutput["secrets"])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("secrets")
    made = ", ".join(f"{count} {kind}" for kind, count in sorted(_totals.secrets.items()))
    terminalreporter.write_line(f"made by {_totals.tests} tests: {made}")
    looked = ", ".join(f"{_totals.searched[place]} {place}" for place in PLACES)
    terminalreporter.write_line(f"looked for in: {looked}; every hit is an error above")
