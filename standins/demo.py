"""`make demo`: a whole Watchbook beside stand-in sites whose world keeps changing. `--once`: one round and a table.

Everything happens through the doors a user has: the command line and the HTTP API.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from standins.demo_nga import Forum
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink

EMAIL, PASSWORD = "demo@example.com", "watchbook-demo"
LIVE_EVERY_SECONDS = 20.0
START_SECONDS = 60.0


class World:
    """The stand-in sites, running in this process."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.shop = stack.enter_context(SitemapSite())
        self.mail = stack.enter_context(SmtpSink())
        self.hooks = stack.enter_context(WebhookSink())
        self.forum = Forum(stack)
        self.shop.add_many([f"/products/lantern-{n:03}" for n in range(240)], lastmod="2026-10-01")
        self.shop.split(4)

    @property
    def trusted(self) -> str:
        return ",".join(site.netloc for site in (self.shop, self.hooks, self.forum.board))

    def live(self) -> None:
        """Something happens everywhere."""
        self.shop.live(6)
        self.forum.go_on(3)


class Desk:
    """Watchbook in its own process, with its own data folder, spoken to like anybody would."""

    def __init__(self, home: Path, port: int, world: World) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.env = {
            **os.environ,
            **world.forum.env,
            "WATCHBOOK_HOME": str(home),
            "WATCHBOOK_ENV_FILE": str(home / "none.env"),
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_TRUSTED_HOSTS": world.trusted,
            "WATCHBOOK_PACE": "off",
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(world.mail.port),
            "DATABASE_URL": "",
            "REDIS_URL": "",
            "CELERY_BROKER_URL": "",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
        }
        self.token = ""

    def command(self, *words: str, given: str = "") -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "watchbook", *words], env=self.env, input=given, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"watchbook {' '.join(words)} failed:\n{done.stderr or done.stdout}")
        return json.loads(done.stdout) if "--json" in words else {}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def prepare(self) -> None:
        self.command("migrate", "--verbosity", "0")
        self.command("users", "add", EMAIL, "--operator", "--verified", "--password-stdin", "--json", given=PASSWORD)
        scopes = [word for scope in ("read", "write", "staff") for word in ("--scope", scope)]
        self.token = self.command("tokens", "add", EMAIL, *scopes, "--days", "7", "--json")["token"]

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen([sys.executable, "-m", "watchbook", "up"], env=self.env)
        try:
            self._wait(process)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            if process.poll() is not None:
                raise SystemExit("Watchbook ended while starting; its own lines above say why.")
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                return
            time.sleep(0.2)
        raise SystemExit("Watchbook did not answer in a minute.")


def add_sources(desk: Desk, world: World) -> dict[str, Any]:
    """What a user would set up on the first day."""
    mail = {"name": "Desk", "channel_type": "email", "config": {"email": "desk@example.com"}}
    hook = {"name": "Hook", "channel_type": "webhook", "config": {"url": world.hooks.address("/watchbook")}}
    channels = [desk.ask("POST", "/channels", body)["id"] for body in (mail, hook)]
    return desk.ask(
        "POST",
        "/sitemaps/monitors",
        {"name": "Example Shop", "sitemap_url": world.shop.sitemap, "channel_ids": channels},
    )


def until(what: str, look: Any, seconds: float = 60.0) -> Any:
    """Wait for something that a background job does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.3)
    raise SystemExit(f"demo: {what} did not happen within {seconds:.0f} s")


def newest(desk: Desk, monitor: dict[str, Any], kind: str) -> Any:
    items = desk.ask("GET", f"/sitemaps/monitors/{monitor['id']}/changes?type={kind}")["items"]
    return items[0] if items else None


def one_round(desk: Desk, world: World) -> bool:
    """Everything once: collect, change, notice, tell. Prints the table and says whether each system did its job."""
    monitor = add_sources(desk, world)
    until("the baseline", lambda: newest(desk, monitor, "initial"))
    collected = desk.ask("GET", f"/sitemaps/monitors/{monitor['id']}")["url_count"]
    before = world.shop.mark()
    world.live()
    truth = world.shop.changes_between(before, world.shop.mark())
    desk.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check")
    change = until("the change", lambda: newest(desk, monitor, "changed"))
    seen = tuple(change[f"{kind}_count"] for kind in ("added", "removed", "modified"))
    expected = (len(truth.added), len(truth.removed), len(truth.modified))
    told = until("the notices", lambda: len(world.hooks.deliveries()) + len(world.mail.messages()) >= 2)
    forum_row, forum_is_right = world.forum.one_round(desk)
    print_table([("sitemaps", collected, "+{} −{} ~{}".format(*seen), 2 if told else 0, 0), forum_row])
    if seen != expected:
        print(f"sitemaps: the site changed by {expected}, Watchbook saw {seen}")
    return seen == expected and collected == 240 and forum_is_right


def print_table(rows: Sequence[tuple[Any, ...]]) -> None:
    head = ("system", "collected", "changed", "told", "filed")
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def stay(desk: Desk, world: World, process: subprocess.Popen[bytes]) -> None:
    monitor = add_sources(desk, world)
    print(
        f"\nWatchbook is on {desk.url}\n"
        f"Sign in with {EMAIL} and the password {PASSWORD}\n"
        f"The shop at {world.shop.url} and the board at {world.forum.board.url} change every"
        f" {LIVE_EVERY_SECONDS:.0f} s: look at Sitemaps, Forum, Stream and Search.\n"
        "Ctrl-C ends everything.",
        flush=True,
    )
    stopped = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    while not stopped.wait(LIVE_EVERY_SECONDS) and process.poll() is None:
        world.live()
        with contextlib.suppress(OSError):
            desk.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check")
        with contextlib.suppress(OSError):
            desk.ask("POST", "/nga/crawl", {"fid": 7})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description="Watchbook beside stand-in sites.")
    parser.add_argument("--once", action="store_true", help="one round, a table, exit")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--home", type=Path, default=Path("var/demo"))
    chosen = parser.parse_args()
    home = (chosen.home / time.strftime("%Y%m%d-%H%M%S")).absolute()
    home.mkdir(parents=True, mode=0o700)
    with contextlib.ExitStack() as stack:
        world = World(stack)
        desk = Desk(home, free_port() if chosen.once else chosen.port, world)
        desk.prepare()
        with desk.running() as process:
            if chosen.once:
                return 0 if one_round(desk, world) else 1
            stay(desk, world, process)
    return 0


if __name__ == "__main__":
    sys.exit(main())
