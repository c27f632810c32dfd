"""A real Watchbook in a process of its own, beside stand-in sites and sinks that live in this one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from standins.demo import free_port
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from watchbook.core.ops.tests.processes import Running, environment

PASSWORD = "a quiet lantern at noon"
MEMBER, OPERATOR = "mina@example.com", "oskar@example.com"
# Each of these begins with nothing: a test that changes an account has one of its own.
NEWCOMERS = {name: f"{name}@example.com" for name in ("switch", "channel", "watch")}
FILL_SECONDS = 300
SITES = ("shop", "paper", "docs", "sale", "down", "wall", "rest", "atlas", "fresh")


class World:
    """The sites of SITES, one mail server and one receiver of webhooks."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.sites = {name: stack.enter_context(SitemapSite()) for name in SITES}
        self.mail = stack.enter_context(SmtpSink())
        self.hooks = stack.enter_context(WebhookSink())


class Desk:
    """A data folder, and the program on it."""

    def __init__(self, home: Path, world: World, *, port: int | None = None) -> None:
        self.home = home
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{self.port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_TRUSTED_HOSTS": ",".join(site.netloc for site in (*world.sites.values(), world.hooks)),
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(world.mail.port),
        }

    def fill(self, world: World, *, days: int, language: str = "en") -> None:
        """People, and so many days of history with every state a monitor, a delivery and an alert can have."""
        given = {
            "days": days,
            "language": language,
            "sites": {name: site.url for name, site in world.sites.items()},
            "hooks": world.hooks.url,
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
