"""`make demo`: a complete server beside stand-in sites that keep changing. `--once`: one round and a table.

The demo uses only what a user has: the command line and the HTTP API.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from standins.demo_library import Shelf, Truth
from standins.demo_nga import Forum
from standins.demo_notes import Notes
from standins.demo_pages import Harbour
from standins.demo_reddit import Communities
from standins.demo_server import EMAIL, PASSWORD, DemoServer, until
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink

LIVE_EVERY_SECONDS = 20.0


class World:
    """The stand-in sites, running in this process, and the library for what they bring."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.shop = stack.enter_context(SitemapSite())
        self.mail = stack.enter_context(SmtpSink())
        self.hooks = stack.enter_context(WebhookSink())
        self.forum = Forum(stack)
        self.communities = Communities(stack)
        self.notes = Notes(stack)
        self.harbour = Harbour(stack)
        self.shelf = Shelf()
        self.shop.add_many([f"/products/lantern-{n:03}" for n in range(240)], lastmod="2026-10-01")
        self.shop.split(4)

    @property
    def addresses(self) -> str:
        sites = (self.shop, self.harbour.site, self.forum.board, self.communities.site, self.notes.platform)
        return " ".join(site.url for site in sites)

    @property
    def env(self) -> dict[str, str]:
        sites = (self.shop, self.harbour.site, self.hooks, self.forum.board, self.communities.site, self.notes.platform)
        return {
            **self.forum.env,
            **self.communities.env,
            **self.notes.env,
            "WATCHBOOK_TRUSTED_HOSTS": ",".join(site.netloc for site in sites),
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(self.mail.port),
        }

    def live(self) -> None:
        """Let every site change a little."""
        self.shop.live(6)
        self.forum.go_on(3)
        self.communities.go_on()


def add_monitor(server: DemoServer, world: World) -> dict[str, Any]:
    """Create two channels and a monitor, as a user would on the first day."""
    mail = {"name": "Desk", "channel_type": "email", "config": {"email": "desk@example.com"}}
    hook = {"name": "Hook", "channel_type": "webhook", "config": {"url": world.hooks.address("/watchbook")}}
    channels = [server.ask("POST", "/channels", body)["id"] for body in (mail, hook)]
    return server.ask(
        "POST",
        "/sitemaps/monitors",
        {"name": "Example Shop", "sitemap_url": world.shop.sitemap, "channel_ids": channels},
    )


def newest(server: DemoServer, monitor: dict[str, Any], kind: str) -> Any:
    items = server.ask("GET", f"/sitemaps/monitors/{monitor['id']}/changes?type={kind}")["items"]
    return items[0] if items else None


def one_round(server: DemoServer, world: World) -> bool:
    """Collect, change, notify and save once. Print the table and return whether every system did its work."""
    # The harbour has a sitemap, too: the newest change of a sitemap is that of the shop, which the library saves.
    harbour = world.harbour.one_round(server)
    shop_row, shop_is_right, shows_change = shop_round(server, world)
    scenes = (world.forum, world.communities, world.notes)
    rounds = [(shop_row, shop_is_right), harbour, *(scene.one_round(server) for scene in scenes)]
    truths = {
        "sitemaps": shows_change,
        "pages": world.harbour.wrote,
        "nga": world.forum.wrote,
        "reddit": world.communities.wrote,
        "notes": world.notes.wrote,
    }
    shelf_row, shelf_is_right = world.shelf.one_round(server, truths)
    print_table([*((*row, world.shelf.count(row[0])) for row, _ in rounds), shelf_row])
    return all(is_right for _, is_right in rounds) and shelf_is_right


def shop_round(server: DemoServer, world: World) -> tuple[tuple[Any, ...], bool, Truth]:
    """Return the row, whether it is right, and a test for a page that shows this change."""
    monitor = add_monitor(server, world)
    until("the baseline", lambda: newest(server, monitor, "initial"))
    collected = server.ask("GET", f"/sitemaps/monitors/{monitor['id']}")["url_count"]
    before = world.shop.mark()
    world.shop.live(6)
    truth = world.shop.changes_between(before, world.shop.mark())
    server.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check")
    change = until("the change", lambda: newest(server, monitor, "changed"))
    seen = tuple(change[f"{kind}_count"] for kind in ("added", "removed", "modified"))
    expected = (len(truth.added), len(truth.removed), len(truth.modified))
    until("the notifications", lambda: len(world.hooks.deliveries()) + len(world.mail.messages()) >= 2)
    if seen != expected:
        print(f"sitemaps: the site changed by {expected}, Watchbook saw {seen}")
    row = ("sitemaps", collected, "+{} −{} ~{}".format(*seen), 2)
    urls = [page.url for page in truth.added]
    return row, seen == expected and collected == 240, lambda page: all(url in page["content"] for url in urls)


def print_table(rows: Sequence[tuple[Any, ...]]) -> None:
    head = ("system", "collected", "changed", "notified", "saved")
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def stay(server: DemoServer, world: World, process: subprocess.Popen[bytes]) -> None:
    monitor = add_monitor(server, world)
    world.notes.set_up(server)
    world.harbour.set_up(server)
    world.shelf.set_up(server)
    print(
        f"\nWatchbook runs at {server.url}\n"
        f"Sign in with {EMAIL} and the password {PASSWORD}\n"
        f"A shop, a harbour, a board, communities and notes change every {LIVE_EVERY_SECONDS:.0f} s. An item of each is"
        " saved to the library.\n"
        f"The stand-in sites: {world.addresses}\n"
        "Press Ctrl-C to stop.",
        flush=True,
    )
    stopped = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    # Reddit needs no extra step: communities with new posts are crawled every three minutes.
    steps: list[Callable[[], Any]] = [
        lambda: server.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check"),
        lambda: server.ask("POST", "/nga/crawl", {"fid": 7}),
        lambda: world.notes.go_on(server),
        lambda: world.harbour.go_on(server),
        lambda: world.shelf.go_on(server),
    ]
    while not stopped.wait(LIVE_EVERY_SECONDS) and process.poll() is None:
        world.live()
        for step in steps:
            with contextlib.suppress(OSError):
                step()


def check_port(port: int) -> None:
    """End with a sentence when another program listens on the port: the demo must not send it a token."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise SystemExit(
                f"Another program uses 127.0.0.1:{port}. Stop it, or choose another port: make demo PORT={port + 10}"
            ) from None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description="A complete server beside stand-in sites.")
    parser.add_argument("--once", action="store_true", help="one round, a table, exit")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--home", type=Path, default=Path("var/demo"))
    chosen = parser.parse_args()
    if not chosen.once:
        check_port(chosen.port)
    home = (chosen.home / time.strftime("%Y%m%d-%H%M%S")).absolute()
    home.mkdir(parents=True, mode=0o700)
    with contextlib.ExitStack() as stack:
        print("Starting the stand-in sites …", flush=True)
        world = World(stack)
        server = DemoServer(home, free_port() if chosen.once else chosen.port, world.env)
        print("Creating the database and an account …", flush=True)
        server.prepare()
        world.communities.read_this_morning(server)
        print("Starting Watchbook …", flush=True)
        with server.running() as process:
            if chosen.once:
                return 0 if one_round(server, world) else 1
            stay(server, world, process)
    return 0


if __name__ == "__main__":
    sys.exit(main())
