"""A real Watchbook in a process of its own, beside stand-in sites and sinks that live in this one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from standins.demo import free_port
from standins.demo_nga import Forum
from standins.demo_notes import Notes
from standins.demo_reddit import NAMES, Communities
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import Message, SmtpSink
from standins.webhook_sink import WebhookSink
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables

PASSWORD = "a quiet lantern at noon"
MEMBER, OPERATOR = "mina@example.com", "oskar@example.com"
# Each of these begins with nothing: a test that changes an account has one of its own.
NEWCOMERS = {name: f"{name}@example.com" for name in ("switch", "channel", "watch")}
FILL_SECONDS = 300
# A job sends it: on a busy machine it takes its turn.
MAIL_SECONDS = 60
SITES = ("shop", "paper", "docs", "sale", "down", "wall", "rest", "atlas", "fresh")


class World:
    """The sites of SITES, one mail server, one receiver of webhooks, and what the other systems read."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.sites = {name: stack.enter_context(SitemapSite()) for name in SITES}
        self.mail = stack.enter_context(SmtpSink())
        self.hooks = stack.enter_context(WebhookSink())
        self.forum = Forum(stack)
        self.communities = Communities(stack)
        self.notes = Notes(stack)

    @property
    def hosts(self) -> str:
        """All that Watchbook may ask here."""
        others = (self.hooks, self.forum.board, self.communities.site, self.notes.platform)
        return ",".join(site.netloc for site in (*self.sites.values(), *others))

    def link_for(self, email: str, start: str) -> str:
        """Wait for a mail to this address with a link that begins so. Other servers may have written to it before."""

        def links(mails: list[Message]) -> list[str]:
            return [
                link for mail in mails if email in mail.recipients for link in mail.links() if link.startswith(start)
            ]

        return links(self.mail.wait_for(links, MAIL_SECONDS))[0]


class Desk:
    """A data folder, and the program on it."""

    def __init__(self, home: Path, world: World, *, port: int | None = None) -> None:
        self.home = home
        prepare_tables(home)  # what `up` does on an empty folder has tests of its own, and takes seconds
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{self.port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_TRUSTED_HOSTS": world.hosts,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(world.mail.port),
            **world.forum.env,
            **world.communities.env,
            **world.notes.env,
        }

    def fill(self, world: World, *, days: int, language: str = "en") -> None:
        """People, and so many days of history with every state a monitor, a delivery and an alert can have."""
        given = {
            "days": days,
            "language": language,
            "sites": {name: site.url for name, site in world.sites.items()},
            "hooks": world.hooks.url,
            "cookie": world.notes.cookie,
            "communities": {
                "url": world.communities.site.url,
                "names": NAMES,
                "read_at": world.communities.read_at.isoformat(),
                "edited": next(reversed(world.communities.world.posts)),
            },
            "people": {"member": MEMBER, "operator": OPERATOR, **NEWCOMERS},
            "password": PASSWORD,
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.browser.fill"],
            env=environment(self.home, **self.settings), input=json.dumps(given), capture_output=True, text=True,
            timeout=FILL_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"filling ended with {done.returncode}:\n{done.stderr or done.stdout}")

    @contextlib.contextmanager
    def running(self) -> Iterator[Running]:
        process = Running(self.home, "-m", "watchbook", "up", **self.settings)
        try:
            process.wait_for(r"Watchbook is at ")
            yield process
            process.ask()
        finally:
            process.close()
