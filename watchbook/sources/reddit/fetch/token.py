"""The app-only token: fetched by one process, sealed in the shared row, used by all."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import urlencode

from watchbook.base.crypto import CannotOpen, open_sealed, seal
from watchbook.base.logs.known import remember
from watchbook.base.web.answer import Answer
from watchbook.base.web.client import Client
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch import turns
from watchbook.sources.reddit.fetch.errors import Lost, Stop
from watchbook.sources.reddit.models import Access, Outcome

# Given up this long before it ends: a request that is just leaving must not arrive with a dead token.
MARGIN_MS = 60_000
BINDING = "reddit-token"
GRANT = urlencode({"grant_type": "client_credentials"}).encode()
WAIT_SECONDS = 0.1


# What this process holds: access name -> (token, end). Asking the row and opening the seal at every request would cost
# more than the request's other statements together.
_held: dict[str, tuple[str, int]] = {}


def current_token(client: Client) -> str:
    """A token that lives; fetched if there is none. While another process fetches one, this one waits for it."""
    name = turns.access_name()
    token, until = _held.get(name, ("", 0))
    if until > turns.now_ms():
        return token
    lease_ms = int((options.REQUEST_TIMEOUT.value + turns.PATIENCE_SECONDS) * 1000)
    while True:
        row, now = turns.shared_row(), turns.now_ms()
        if row.token_until_ms > now and (token := _opened(row)):
            _held[name] = (token, row.token_until_ms)
            return token
        free = Access.objects.filter(pk=row.pk, token_lease_ms=row.token_lease_ms)
        if row.token_lease_ms <= now and free.update(token_lease_ms=now + lease_ms):
            return _fetch(client, row.pk)
        time.sleep(WAIT_SECONDS)


def forget_token(token: str) -> None:
    """Reddit said that this token is dead. A newer one, which another process has fetched since, stays."""
    name = turns.access_name()
    if _held.get(name, ("", 0))[0] == token:
        del _held[name]
    row = turns.shared_row()
    if _opened(row) == token:
        Access.objects.filter(pk=row.pk, sealed_token=row.sealed_token).update(sealed_token="", token_until_ms=0)


def _opened(row: Access) -> str:
    try:
        return open_sealed(row.sealed_token, bound_to=BINDING) if row.sealed_token else ""
    except CannotOpen:
        return ""  # the key ring was changed: as good as none


def _fetch(client: Client, pk: int) -> str:
    try:
        token, seconds = _ask(client)
        until = turns.now_ms() + max(int(seconds * 1000) - MARGIN_MS, 1000)
        Access.objects.filter(pk=pk).update(sealed_token=seal(token, bound_to=BINDING), token_until_ms=until)
        return token
    finally:
        Access.objects.filter(pk=pk).update(token_lease_ms=0)


def _ask(client: Client) -> tuple[str, float]:
    pair = f"{options.CLIENT_ID.value}:{options.CLIENT_SECRET.value}"
    basic = remember(base64.b64encode(pair.encode()).decode())
    with turns.turn():
        answer = client.send(
            "POST",
            options.TOKEN_URL.value,
            GRANT,
            {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": options.USER_AGENT.value},
            secrets={"Authorization": f"Basic {basic}"},
            max_bytes=100_000,
            deadline_seconds=options.REQUEST_TIMEOUT.value,
            raise_for_status=False,
        )
    return _read(answer)


def _read(answer: Answer) -> tuple[str, float]:
    """A refused grant may come with status 200 and an error inside."""
    if answer.status == 429:
        turns.pause(60)
        raise Stop(Outcome.THROTTLED, "token", wait_seconds=60)
    if answer.status >= 500:
        raise Lost(Outcome.UPSTREAM, f"token {answer.status}")
    try:
        given: Any = json.loads(answer.body)
        token, seconds = given["access_token"], float(given["expires_in"])
    except (ValueError, KeyError, TypeError):
        raise Stop(Outcome.AUTH, f"no token, status {answer.status}") from None
    if answer.status != 200 or not isinstance(token, str) or not token:
        raise Stop(Outcome.AUTH, f"no token, status {answer.status}")
    return remember(token), seconds
