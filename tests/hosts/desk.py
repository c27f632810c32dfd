"""The installation on its hosts: two web, three workers, two beats; no folder in common, the keys by environment."""

from __future__ import annotations

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from standins.demo_server import DemoServer
from tests.hosts.network import Host, Network

ROLES = {"web": 2, "worker": 3, "beat": 2}
WORDS = {"web": ("web",), "worker": ("worker", "--threads", "4"), "beat": ("beat",)}
START_SECONDS = 300.0
TRIES = 20


def shared_settings() -> dict[str, str]:
    """What is the same everywhere. Short leases: a killed worker is missed after seconds, not after minutes."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "WATCHBOOK_SECRETS_KEYS": f"k1:{secrets.token_urlsafe(32)}",
        "WATCHBOOK_ENV_FILE": "/nowhere/none.env",
        "WATCHBOOK_LOG_LEVEL": "WARNING",
        "WATCHBOOK_PACE": "off",
        "WATCHBOOK_LEASE_FACTOR": "0.2",
        "WATCHBOOK_DELIVERY_LEASE_SECONDS": "10",
        "WATCHBOOK_RESEND_SECONDS": "5",
        "WATCHBOOK_GRACE_SECONDS": "10",
    }


class Desk(DemoServer):
    """Used as the demo uses its server; commands run on the host of the first web process."""

    def __init__(self, network: Network, settings: dict[str, str], roles: dict[str, int] | None = None) -> None:
        self.hosts = {
            role: [network.host(f"{role}{number}") for number in range(1, count + 1)]
            for role, count in (ROLES if roles is None else roles).items()
        }
        self.front = next(iter(self.hosts.values()))[0]
        self.home = self.front.folder
        self.url = f"http://{self.front.address}:8000"
        self.settings = {**settings, "WATCHBOOK_PUBLIC_URL": self.url}
        self.token = ""

    def all_hosts(self) -> Iterator[Host]:
        for hosts in self.hosts.values():
            yield from hosts

    def start(self, words: dict[str, tuple[str, ...]] | None = None) -> None:
        for role, hosts in self.hosts.items():
            for host in hosts:
                own = {"WATCHBOOK_PUBLIC_URL": f"http://{host.address}:8000"} if role == "web" else {}
                host.start(*(words or WORDS)[role], **{**self.settings, **own})
        self._wait_for_pages()

    def _wait_for_pages(self) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            if not self.front.is_running:
                raise SystemExit(f"{self.front.name} ended; see its log in {self.front.logs}")
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return
            except OSError:
                time.sleep(0.3)
        raise SystemExit("the first web process does not answer")

    def stop(self) -> None:
        for host in self.all_hosts():
            host.stop()

    def command(self, *words: str, given: str = "") -> dict[str, Any]:
        done = self.front.run(*words, given=given, **self.settings)
        if done.returncode:
            raise SystemExit(f"watchbook {' '.join(words)} failed:\n{done.stderr or done.stdout}")
        return json.loads(done.stdout) if "--json" in words else {}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """A busy host may take a while; a refusal is an answer."""
        for left in range(TRIES, -1, -1):
            try:
                return super().ask(method, path, body)
            except urllib.error.HTTPError as error:
                if error.code not in {409, 429, 500, 503} or not left:
                    raise SystemExit(f"{method} {path}: {error.code} {error.read()[:500]!r}") from None
                if error.code == 409:
                    return None  # it runs already
            except OSError:
                if not left:
                    raise
            time.sleep(1)
        return None

    def everything(self, path: str) -> list[Any]:
        """All pages of a list."""
        found: list[Any] = []
        cursor, mark = "", "&" if "?" in path else "?"
        while cursor is not None:
            page = self.ask("GET", f"{path}{mark}limit=200" + (f"&cursor={cursor}" if cursor else ""))
            found += page["items"]
            cursor = page.get("next")
        return found
