"""Before a process starts: every setting is read and the address is checked."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from django.conf import settings

from watchbook.base import env
from watchbook.base.env import InvalidSetting
from watchbook.base.extras import require
from watchbook.core import registry
from watchbook.core.jobs import options as job_options
from watchbook.core.ops import options

# Read by the settings module itself, before options exist.
OTHERS = {"WATCHBOOK_ENV_FILE"}


def check_settings() -> Bind:
    """Return the address to listen on. Raises InvalidSetting for the first invalid value."""
    load_options()
    env.check_all()
    if job_options.BROKER_URL.value:
        require("celery", "celery", "CELERY_BROKER_URL is set")
    return bind()


def check_stray() -> None:
    """Refuse an unknown WATCHBOOK_ name: it is most likely misspelt."""
    known = {*env.declared(), *OTHERS}
    stray = sorted(name for name in os.environ if name.startswith("WATCHBOOK_") and name not in known)
    if stray:
        raise InvalidSetting(f"{stray[0]} is set, but there is no such setting.")


def load_options() -> None:
    """Options are declared when their module is imported."""
    for name in _option_modules():
        import_module(name)


def _option_modules() -> Iterator[str]:
    base = [f"watchbook.base.{name}" for name in ("web", "sandbox")]
    core = [f"watchbook.core.{name}" for name in ("accounts", "api", "jobs", "notify", "search", "stream", "ops")]
    for package in (*base, *core, *registry.packages()):
        if find_spec(f"{package}.options"):
            yield f"{package}.options"


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
        raise InvalidSetting(f"WATCHBOOK_BIND is {given!r}: expected address:port, such as 127.0.0.1:8000")
    found = Bind(host, number)
    if settings.DEBUG and not found.is_loopback:
        raise InvalidSetting(f"WATCHBOOK_DEBUG is on, but WATCHBOOK_BIND is {given!r}, which others can reach")
    return found
