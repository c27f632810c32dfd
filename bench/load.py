"""Load: 200 connections on Home, a list, a topic and the API, on SQLite and PostgreSQL, with waitress and granian.

    python -m bench.load [seconds]

The data are those of the demo. Server and client share this machine: the figures compare cases, not machines.
`--profile PATH` prints where requests of one page spend their time instead.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from standins.demo_server import EMAIL
from watchbook.base.testing import servers
from watchbook.core.ops.tests.processes import Running, environment, run

CONNECTIONS = 200
SECONDS = 10.0
SIGN_IN = """
import django
django.setup()
from importlib import import_module
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from watchbook.core.accounts.models import User
user = User.objects.filter(is_staff=True).first()
session = import_module(settings.SESSION_ENGINE).SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
print(settings.SESSION_COOKIE_NAME + "=" + session.session_key)
"""
PROFILE = """
import cProfile, pstats, sys, django
django.setup()
from django.test import Client
from watchbook.core.accounts.models import User
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(User.objects.filter(is_staff=True).first())
path = sys.argv[1]
for _ in range(3):
    client.get(path)
profile = cProfile.Profile()
profile.enable()
for _ in range(10):
    assert client.get(path).status_code == 200
profile.disable()
pstats.Stats(profile).sort_stats("cumulative").print_stats("watchbook", 45)
"""


async def one(address: str, head: bytes, until: float, times: list[float], answers: Counter[str]) -> None:
    """One connection that asks again as soon as it is answered."""
    place = urlsplit(address)
    reader = writer = None
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection(place.hostname, place.port)
            assert reader is not None
            writer.write(head)
            status, length, is_closing = await asyncio.wait_for(_head(reader), until - time.monotonic() + 30)
            await reader.readexactly(length)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
            answers[type(error).__name__] += 1
            writer = None
            continue
        answers[status] += 1
        times.append(time.monotonic() - began)
        if is_closing:
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


async def _head(reader: asyncio.StreamReader) -> tuple[str, int, bool]:
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", text)
    if length is None:
        raise ValueError("no length")
    return text.split(" ", 2)[1], int(length[1]), "connection: close" in text


async def load(address: str, path: str, headers: str, seconds: float) -> tuple[list[float], Counter[str], float]:
    head = f"GET {path} HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n{headers}\r\n\r\n".encode()
    times: list[float] = []
    answers: Counter[str] = Counter()
    began = time.monotonic()
    until = began + seconds
    await asyncio.gather(*(one(address, head, until, times, answers) for _ in range(CONNECTIONS)))
    return sorted(times), answers, time.monotonic() - began


@contextmanager
def database(kind: str, home: Path) -> Iterator[dict[str, str]]:
    if kind == "sqlite":
        yield {}
        return
    import psycopg  # only where PostgreSQL is measured

    name = f"load_{uuid4().hex[:10]}"
    server = servers.postgres_url()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
    url = servers.beside(server, name)
    try:
        done = run(home, "move", "--to", url)
        if done.returncode:
            raise SystemExit(done.stderr)
        yield {"DATABASE_URL": url}
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload]


def python(home: Path, code: str, *arguments: str, **extra: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment(home, **extra), text=True, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def cases(address: str, cookie: str, token: str) -> dict[str, tuple[str, str]]:
    """Name -> path and headers. The topic is the first one of the list."""
    request = urllib.request.Request(f"{address}/nga/", headers={"Cookie": cookie})
    with urllib.request.urlopen(request, timeout=60) as response:
        found = re.findall(r'href="(/nga/topics?/\d+/)', response.read().decode())
    if not found:
        raise SystemExit("The list of topics shows no topic.")
    signed = f"Cookie: {cookie}"
    return {
        "home": ("/", signed),
        "list": ("/nga/", signed),
        "topic": (found[0], signed),
        "api": ("/api/v1/stream?limit=50", f"Authorization: Bearer {token}"),
    }


def measure(home: Path, kind: str, server: str, extra: dict[str, str], seconds: float) -> None:
    cookie = python(home, SIGN_IN, **extra).strip()
    made = run(home, "tokens", "add", EMAIL, "--name", "load", **extra)
    token = re.search(r"wb_\S+", made.stdout)
    process = Running(home, "-m", "watchbook", "web", "--server", server, WATCHBOOK_JOBS="off", **extra)
    try:
        address = process.wait_for(r"Watchbook is at (\S+)").group(1)
        for name, (path, headers) in cases(address, cookie, token[0] if token else "").items():
            if name == "api" and token is None:
                print(f"  no token: {made.stderr.strip()[:200]}")
                continue
            asyncio.run(load(address, path, headers, 1.0))
            times, answers, spent = asyncio.run(load(address, path, headers, seconds))
            good = answers.pop("200", 0)
            p50, p95 = (times[int(len(times) * part)] if times else 0.0 for part in (0.5, 0.95))
            errors = ", ".join(f"{count} x {what}" for what, count in sorted(answers.items())) or "none"
            print(
                f"  {kind:<9} {server:<9} {name:<6} {good / spent:>7.1f} requests/s  p50 {p50 * 1000:>6.0f} ms"
                f"  p95 {p95 * 1000:>6.0f} ms  errors {errors}",
                flush=True,
            )
    finally:
        process.close()


def demo(folder: Path) -> Path:
    command = [sys.executable, "-m", "standins.demo", "--once", "--home", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [home] = folder.iterdir()
    return home


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments and arguments[0][0].isdigit() else SECONDS
    cores, busy = os.cpu_count(), os.getloadavg()[0]
    print(f"{CONNECTIONS} connections, {seconds:.0f} s each, {cores} cores, load before: {busy:.1f}")
    with tempfile.TemporaryDirectory(prefix="watchbook-load-") as folder:
        given = os.environ.get("BENCH_HOME")
        home = Path(given) if given else demo(Path(folder))
        if "--profile" in arguments:
            print(python(home, PROFILE, arguments[arguments.index("--profile") + 1]))
            return 0
        for kind in ("sqlite", "postgres"):
            with database(kind, home) as extra:
                for server in ("waitress", "granian"):
                    measure(home, kind, server, extra, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
