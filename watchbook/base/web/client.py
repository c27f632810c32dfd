"""The HTTP client: `get` reads, `send` delivers. Every request of the product goes through it.

The shared client is safe in threads and after a fork, and closed at exit. Tests create a `Client` of their own with
another resolver.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from watchbook.base.web import rate_limit
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Refused
from watchbook.base.web.fetch import Fetch, Request, log
from watchbook.base.web.response import Answer, CookieJar, Exchange, Validators

if TYPE_CHECKING:
    from watchbook.base.web.transport import Resolver, Transport

IDLE_CONNECTIONS = 20
SEND_MAX_BYTES = 4096


class Client:
    """`is_paced=False` is for measurements and tests: no rate limit, no database."""

    def __init__(self, *, resolver: Resolver | None = None, is_paced: bool = True) -> None:
        self._resolver = resolver
        self._is_paced = is_paced
        self._lock = threading.Lock()
        self._transports: dict[int, Transport] = {}

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        accept: str | None = None,
        validators: Validators | tuple[str | None, str | None] | None = None,
        jar: CookieJar | None = None,
        max_bytes: int = 10 * 1024 * 1024,
        deadline_seconds: float = 30.0,
        follow: int = 5,
        allow_downgrade: bool = True,
        to_file: Path | None = None,
        raise_for_status: bool = True,
        account: str = "",
        spacing_seconds: float | None = None,
        wait_seconds: float = 30.0,
        record: list[Exchange] | None = None,
    ) -> Answer:
        """Request a page; raise a WebError for everything but a usable response.

        `secrets` are headers that never leave the first origin; `headers` do not either, but are no reason to refuse
        a downgrade. With `follow=0` a redirect is itself the response. A response whose media type is not in
        `accept` raises BadAnswer, unless `accept` ends with */*. `account` keeps pauses apart. `record` gets the
        last exchange as it went over the wire; with `follow=0` that is every one.
        """
        request = Request(
            headers=headers or {},
            secrets=secrets or {},
            accept=accept or "",
            validators=Validators(*(validators or ())),
            jar=jar,
            max_bytes=max_bytes,
            deadline_seconds=deadline_seconds,
            follow=follow,
            allow_downgrade=allow_downgrade,
            to_file=to_file,
            keeps_redirect=follow == 0,
            raise_for_status=raise_for_status,
            account=account,
            spacing_seconds=rate_limit.DEFAULT_SPACING if spacing_seconds is None else spacing_seconds,
            wait_seconds=wait_seconds,
            record=record,
        )
        return self._fetch(request, url, IDLE_CONNECTIONS)

    def send(
        self,
        method: str,
        url: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        secrets: Mapping[str, str] | None = None,
        jar: CookieJar | None = None,
        max_bytes: int | None = None,
        deadline_seconds: float = 30.0,
        raise_for_status: bool = True,
        own_url: str | None = None,
        account: str = "",
        spacing_seconds: float = 0.0,
        wait_seconds: float = 10.0,
    ) -> Answer:
        """Send a body. Redirects are not followed; the first 4 kB of the response are kept.

        With `max_bytes` the whole response is read, and a longer one raises TooLarge. `own_url` is refused.
        """
        request = Request(
            method=method.upper(),
            headers=headers or {},
            secrets=secrets or {},
            body=body,
            jar=jar,
            max_bytes=SEND_MAX_BYTES if max_bytes is None else max_bytes,
            may_cut=max_bytes is None,
            deadline_seconds=deadline_seconds,
            follow=0,
            raise_for_status=raise_for_status,
            account=account,
            spacing_seconds=spacing_seconds,
            wait_seconds=wait_seconds,
        )
        # No idle connections: a delivery must not fail because a kept connection just died.
        return self._fetch(request, url, 0, own_url=own_url)

    def _fetch(self, request: Request, url: str, idle: int, *, own_url: str | None = None) -> Answer:
        try:
            target = check_url(url, own_url=own_url)
        except Refused as error:
            log.info("%s refused: %s", request.method, error.code)
            raise
        return Fetch(self._transport(idle), request, target, is_paced=self._is_paced).run()

    def _transport(self, idle: int) -> Transport:
        transport = self._transports.get(idle)
        if transport is None:
            # Imported late: httpcore takes a quarter of a second to load.
            from watchbook.base.web.transport import Transport, system_resolver

            with self._lock:
                transport = self._transports.get(idle) or Transport(
                    self._resolver or system_resolver, idle_connections=idle
                )
                self._transports[idle] = transport
        return transport

    def reset(self) -> None:
        """Drop all connections without closing them: after a fork they belong to the parent, locked or not."""
        self._lock = threading.Lock()
        self._transports = {}

    def close(self) -> None:
        while self._transports:
            self._transports.popitem()[1].close()


# One for the whole process. A forked child must not write into its parent's connections.
_shared = Client()
get = _shared.get
send = _shared.send
os.register_at_fork(after_in_child=_shared.reset)
atexit.register(_shared.close)
