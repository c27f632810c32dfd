"""`make demo`: a whole Watchbook beside stand-in sites whose world keeps changing. `--once`: one round and a table.

Everything happens through the doors a user has: the command line and the HTTP API.
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

from standins.demo_desk import EMAIL, PASSWORD, Desk, until
from standins.demo_library import Shelf, Truth
from standins.demo_nga import Forum
from standins.demo_notes import Notes
from standins.demo_reddit import Communities
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink

LIVE_EVERY_SECONDS = 20.0


class World:
    """The stand-in sites, running in this process, and a shelf for what they bring."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.shop = stack.enter_context(SitemapSite())
        self.mail = stack.enter_context(SmtpSink())
        self.hooks = stack.enter_context(WebhookSink())
        self.forum = Forum(stack)
        self.communities = Communities(stack)
        self.notes = Notes(stack)
        self.shelf = Shelf()
        self.shop.add_many([f"/products/lantern-{n:03}" for n in range(240)], lastmod="2026-10-01")
        self.shop.split(4)

    @property
    def addresses(self) -> str:
        sites = (self.shop, self.forum.board, self.communities.site, self.notes.platform)
        return " ".join(site.url for site in sites)

    @property
    def env(self) -> dict[str, str]:
        sites = (self.shop, self.hooks, self.forum.board, self.communities.site, self.notes.platform)
        return {
            **self.forum.env,
            **self.communities.env,
            **self.notes.env,
            "WATCHBOOK_TRUSTED_HOSTS": ",".join(site.netloc for site in sites),
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(self.mail.port),
        }

    def live(self) -> None:
        """Something happens everywhere."""
        self.shop.live(6)
        self.forum.go_on(3)
        self.communities.go_on()


def add_monitor(desk: Desk, world: World) -> dict[str, Any]:
    """What a user would set up on the first day."""
    mail = {"name": "Desk", "channel_type": "email", "config": {"email": "desk@example.com"}}
    hook = {"name": "Hook", "channel_type": "webhook", "config": {"url": world.hooks.address("/watchbook")}}
    channels = [desk.ask("POST", "/channels", body)["id"] for body in (mail, hook)]
    return desk.ask(
        "POST",
        "/sitemaps/monitors",
        {"name": "Example Shop", "sitemap_url": world.shop.sitemap, "channel_ids": channels},
    )


def newest(desk: Desk, monitor: dict[str, Any], kind: str) -> Any:
    items = desk.ask("GET", f"/sitemaps/monitors/{monitor['id']}/changes?type={kind}")["items"]
    return items[0] if items else None


def one_round(desk: Desk, world: World) -> bool:
    """Everything once: collect, change, notice, tell, file. Prints the table; did each system do its job?"""
    shop_row, shop_is_right, shows_change = shop_round(desk, world)
    scenes = (world.forum, world.communities, world.notes)
    rounds = [(shop_row, shop_is_right), *(scene.one_round(desk) for scene in scenes)]
    truths = {
        "sitemaps": shows_change,
        "nga": world.forum.wrote,
        "reddit": world.communities.wrote,
        "notes": world.notes.wrote,
    }
    shelf_row, shelf_is_right = world.shelf.one_round(desk, truths)
    print_table([*((*row, world.shelf.count(row[0])) for row, _ in rounds), shelf_row])
    return all(is_right for _, is_right in rounds) and shelf_is_right


def shop_round(desk: Desk, world: World) -> tuple[tuple[Any, ...], bool, Truth]:
    """Also gives how to know a page that shows this change."""
    monitor = add_monitor(desk, world)
    until("the baseline", lambda: newest(desk, monitor, "initial"))
    collected = desk.ask("GET", f"/sitemaps/monitors/{monitor['id']}")["url_count"]
    before = world.shop.mark()
    world.shop.live(6)
    truth = world.shop.changes_between(before, world.shop.mark())
    desk.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check")
    change = until("the change", lambda: newest(desk, monitor, "changed"))
    seen = tuple(change[f"{kind}_count"] for kind in ("added", "removed", "modified"))
    expected = (len(truth.added), len(truth.removed), len(truth.modified))
    until("the notices", lambda: len(world.hooks.deliveries()) + len(world.mail.messages()) >= 2)
    if seen != expected:
        print(f"sitemaps: the site changed by {expected}, Watchbook saw {seen}")
    row = ("sitemaps", collected, "+{} −{} ~{}".format(*seen), 2)
    urls = [page.url for page in truth.added]
    return row, seen == expected and collected == 240, lambda page: all(url in page["content"] for url in urls)


def print_table(rows: Sequence[tuple[Any, ...]]) -> None:
    head = ("system", "collected", "changed", "told", "filed")
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def stay(desk: Desk, world: World, process: subprocess.Popen[bytes]) -> None:
    monitor = add_monitor(desk, world)
    world.notes.set_up(desk)
    world.shelf.set_up(desk)
    print(
        f"\nWatchbook is on {desk.url}\n"
        f"Sign in with {EMAIL} and the password {PASSWORD}\n"
        f"A shop, a board, communities and notes change every {LIVE_EVERY_SECONDS:.0f} s, and something of each is"
        " filed in the library.\n"
        f"The sites themselves: {world.addresses}\n"
        "Ctrl-C ends everything.",
        flush=True,
    )
    stopped = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    # Reddit needs no push: communities that find something are visited every three minutes.
    steps: list[Callable[[], Any]] = [
        lambda: desk.ask("POST", f"/sitemaps/monitors/{monitor['id']}/check"),
        lambda: desk.ask("POST", "/nga/crawl", {"fid": 7}),
        lambda: world.notes.go_on(desk),
        lambda: world.shelf.go_on(desk),
    ]
    while not stopped.wait(LIVE_EVERY_SECONDS) and process.poll() is None:
        world.live()
        for step in steps:
            with contextlib.suppress(OSError):
                step()


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
        desk = Desk(home, free_port() if chosen.once else chosen.port, world.env)
        desk.prepare()
        world.communities.read_this_morning(desk)
        with desk.running() as process:
            if chosen.once:
                return 0 if one_round(desk, world) else 1
            stay(desk, world, process)
    return 0


if __name__ == "__main__":
    sys.exit(main())
