"""The web process: waitress with a few threads, and beside it the embedded runner when there is no broker.

On a stop signal it accepts no new request, finishes open ones, lets jobs finish or requeue, and keeps no lease.

Before a process starts: every setting is read and the address is checked.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import FrameType
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError

from watchbook import base, core
from watchbook.base import env
from watchbook.base.env import InvalidSetting, require
from watchbook.core import registry
from watchbook.core.jobs import options as job_options
from watchbook.core.jobs.actions import hand_back_rest
from watchbook.core.jobs.runner import Embedded
from watchbook.core.ops import options

if TYPE_CHECKING:
    from waitress.server import BaseWSGIServer


log = logging.getLogger(__name__)


class CannotListen(Exception):
    """The address is taken or not ours. The message says which."""


def wants_embedded() -> bool:
    """Jobs run in the web process unless they are disabled or a broker carries them."""
    return job_options.JOBS.value and not job_options.BROKER_URL.value


class WebProcess:
    """The parts of one web process."""

    def __init__(self, bind: Bind, *, application: Any = None) -> None:
        self.stopping = threading.Event()
        self.server = _listen(bind, application)
        self.embedded = Embedded() if wants_embedded() else None
        self.web = threading.Thread(target=self.server.run, name="web", daemon=True)

    @property
    def address(self) -> str:
        host = self.server.effective_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server.effective_port}"

    def run(self, ready: Callable[[], None] = lambda: None) -> int:
        """Live until SIGTERM or SIGINT. Gives the exit code."""
        before = {number: signal.signal(number, self._asked_to_end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            self.web.start()
            if self.embedded:
                self.embedded.start()
            ready()
            while not self.stopping.wait(1):
                if not self.web.is_alive():
                    log.critical("the web server stopped unexpectedly")
                    self._end()
                    return 1
            self._end()
            return 0
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _asked_to_end(self, number: int, _frame: FrameType | None) -> None:
        self.stopping.set()

    def _end(self) -> None:
        deadline = time.monotonic() + job_options.GRACE_SECONDS.value
        log.info("ending: finishing requests and jobs")
        self.server.accepting = False
        jobs = threading.Thread(target=self._end_jobs, args=(job_options.GRACE_SECONDS.value,), daemon=True)
        jobs.start()
        while self._is_answering() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.server.task_dispatcher.shutdown(timeout=max(deadline - time.monotonic(), 0.1))
        jobs.join(max(deadline - time.monotonic(), 0.1))
        if self.embedded:
            self._hand_back()

    def _hand_back(self) -> None:
        try:
            hand_back_rest()
        except DatabaseError as error:
            # Without a database nothing can be given back; the leases run out, and the next worker takes the runs.
            log.warning("runs could not be handed back: the database does not answer (%s)", type(error).__name__)

    def _end_jobs(self, grace_seconds: float) -> None:
        if self.embedded:
            self.embedded.stop(grace_seconds)

    def _is_answering(self) -> bool:
        channels = list(self.server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


def _listen(bind: Bind, application: Any) -> BaseWSGIServer:
    from waitress import create_server  # only where a server is started

    if application is None:
        from django.core.wsgi import get_wsgi_application

        application = get_wsgi_application()
    try:
        return create_server(
            application,
            listen=bind.listen,
            threads=options.WEB_THREADS.value,
            ident=None,
            max_request_body_size=options.MAX_BODY_MB.value * 1024 * 1024,
            max_request_header_size=64 * 1024,
            connection_limit=500,
            # Read on while a request runs: only then is a client that went away seen.
            channel_request_lookahead=1,
            # Which proxies are believed is decided in one place, the TrustedProxy middleware.
            clear_untrusted_proxy_headers=False,
        )
    except OSError as error:
        raise CannotListen(f"Cannot listen on {bind.listen}: {error.strerror or error}.") from None


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
    found = [(part.__name__, each) for part in (base, core) for each in iter_modules(part.__path__)]
    ours = [f"{name}.{each.name}" for name, each in found if each.ispkg]
    for package in (*ours, *registry.packages()):
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
    """WATCHBOOK_BIND, checked. A host name is refused: it may have several addresses."""
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
