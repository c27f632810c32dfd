"""Where the web process listens."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from django.conf import settings

from watchbook.base.env import WrongSetting
from watchbook.core.ops import options


@dataclass(frozen=True)
class Bind:
    host: str
    port: int

    @property
    def listen(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback


def bind() -> Bind:
    """WATCHBOOK_BIND, checked. A host name is refused: it may stand for several addresses."""
    given = options.BIND.value
    host, _, port = given.rpartition(":")
    host = {"": "127.0.0.1", "localhost": "127.0.0.1"}.get(host, host.strip("[]"))
    try:
        ipaddress.ip_address(host)
        number = int(port)
    except ValueError:
        number = -1
    if not 0 <= number <= 65535:
        raise WrongSetting(f"WATCHBOOK_BIND is {given!r}: expected address:port, such as 127.0.0.1:8000")
    found = Bind(host, number)
    if settings.DEBUG and not found.is_loopback:
        raise WrongSetting(f"WATCHBOOK_DEBUG is on, but WATCHBOOK_BIND is {given!r}, which others can reach")
    return found
