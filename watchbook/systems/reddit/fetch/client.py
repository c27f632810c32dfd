"""Sends requests to the Reddit API: token, rate limit, response, error. Every attempt counts as one request.

Re-encrypts the secrets of this system with the newest key.
"""

from __future__ import annotations

import base64
import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from watchbook.base import clock
from watchbook.base.crypto import DecryptionError, Writing, decrypt, encrypt, reencrypt
from watchbook.base.logs.redact import remember
from watchbook.base.web import rate_limit as web_rate_limit
from watchbook.base.web.client import Client
from watchbook.base.web.errors import WebError
from watchbook.base.web.response import Answer
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import outage, rate_limit
from watchbook.systems.reddit.fetch.errors import (
    ClientRefused,
    NotConfigured,
    Refused,
    RequestFailed,
    as_reddit_error,
    error_of,
    number,
)
from watchbook.systems.reddit.models import Access, Outcome
from watchbook.systems.reddit.parse import Listing, NotAListing, parse_listing

# Replaced this long before it expires, so that no request arrives with an expired token.
MARGIN_MS = 60_000
BINDING = "reddit-token"
GRANT = urlencode({"grant_type": "client_credentials"}).encode()
WAIT_SECONDS = 0.1


# Tokens of this process: access name -> (token, end). Reading and decrypting the row for every request would cost more
# than the other statements of a request together.
_held: dict[str, tuple[str, int]] = {}


def current_token(client: Client) -> str:
    """Return a valid token; fetch one if needed. While another process fetches it, wait for it."""
    name = rate_limit.access_name()
    token, until = _held.get(name, ("", 0))
    if until > rate_limit.now_ms():
        return token
    lease_ms = int((options.REQUEST_TIMEOUT.value + rate_limit.MAX_WAIT_SECONDS) * 1000)
    while True:
        row, now = rate_limit.shared_row(), rate_limit.now_ms()
        if row.token_until_ms > now and (token := _opened(row)):
            _held[name] = (token, row.token_until_ms)
            return token
        free = Access.objects.filter(pk=row.pk, token_lease_ms=row.token_lease_ms)
        if row.token_lease_ms <= now and free.update(token_lease_ms=now + lease_ms):
            return _fetch(client, row.pk)
        time.sleep(WAIT_SECONDS)


def discard_token(token: str) -> None:
    """Discard a token that Reddit rejected. A newer one of another process is kept."""
    name = rate_limit.access_name()
    if _held.get(name, ("", 0))[0] == token:
        del _held[name]
    row = rate_limit.shared_row()
    if _opened(row) == token:
        Access.objects.filter(pk=row.pk, sealed_token=row.sealed_token).update(sealed_token="", token_until_ms=0)


def _opened(row: Access) -> str:
    try:
        return decrypt(row.sealed_token, bound_to=BINDING) if row.sealed_token else ""
    except DecryptionError:
        return ""  # encrypted with a key that is gone


def _fetch(client: Client, pk: int) -> str:
    try:
        token, seconds = _ask_token(client)
        until = rate_limit.now_ms() + max(int(seconds * 1000) - MARGIN_MS, 1000)
        Access.objects.filter(pk=pk).update(sealed_token=encrypt(token, bound_to=BINDING), token_until_ms=until)
        return token
    finally:
        Access.objects.filter(pk=pk).update(token_lease_ms=0)


def ask_new_token() -> tuple[str, float]:
    """Ask for a token with the saved ID and secret, whatever token is held. Return it and its seconds."""
    return _ask_token(_client)


def _ask_token(client: Client) -> tuple[str, float]:
    pair = f"{options.CLIENT_ID.value}:{options.CLIENT_SECRET.value}"
    basic = remember(base64.b64encode(pair.encode()).decode())
    try:
        answer = _send(client, basic)
    except WebError as error:
        raise as_reddit_error(error) from error
    return _read_token(answer)


def _send(client: Client, basic: str) -> Answer:
    with rate_limit.slot():
        return client.send(
            "POST",
            options.TOKEN_URL.value,
            GRANT,
            {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": options.USER_AGENT.value},
            secrets={"Authorization": f"Basic {basic}"},
            max_bytes=100_000,
            deadline_seconds=options.REQUEST_TIMEOUT.value,
            raise_for_status=False,
        )


def _read_token(answer: Answer) -> tuple[str, float]:
    """Read the token response. A refused grant may have status 200 and an error in the body."""
    if answer.status == 429:
        rate_limit.pause(60)
        raise ClientRefused(Outcome.THROTTLED, "token", wait_seconds=60)
    if answer.status >= 500:
        raise RequestFailed(Outcome.UPSTREAM, f"token {answer.status}")
    try:
        given: Any = json.loads(answer.body)
        token, seconds = given["access_token"], float(given["expires_in"])
    except (ValueError, KeyError, TypeError):
        raise ClientRefused(Outcome.AUTH, f"no token, status {answer.status}") from None
    if answer.status != 200 or not isinstance(token, str) or not token:
        raise ClientRefused(Outcome.AUTH, f"no token, status {answer.status}")
    return remember(token), seconds


MAX_RESPONSE_BYTES = 16 * 1024 * 1024
INFO_IDS = 100
# The default rate limit of the client allows one request at a time per host. Reddit allows more, counted over
# all processes, so `fetch.rate_limit` replaces it.
_client = Client(is_paced=False)
os.register_at_fork(after_in_child=_client.reset)


def fetch_listing(
    subreddit: str, sort: str = "new", *, limit: int = 100, after: str | None = None, time_filter: str = ""
) -> Listing:
    """Fetch one page of a listing of posts, or of the newest comments if `sort` is comments."""
    params = {"limit": str(limit)} | ({"after": after} if after else {}) | ({"t": time_filter} if time_filter else {})
    page = _listing(f"/r/{quote(subreddit, safe='')}/{sort}", params)
    if page.posts if sort == "comments" else page.comments:
        raise RequestFailed(Outcome.GARBAGE, "posts instead of comments" if page.posts else "comments instead of posts")
    return page


def fetch_by_id(ids: Sequence[str], *, prefix: str = "t3_") -> Listing:
    """Fetch up to 100 posts (t3_) or comments (t1_) by ID. Unknown ones are missing in the response."""
    assert len(ids) <= INFO_IDS
    return _listing("/api/info", {"id": ",".join(f"{prefix}{item_id}" for item_id in ids)})


def _listing(path: str, params: Mapping[str, str]) -> Listing:
    """Send the request, again if the service fails, and open or close the outage by what was seen."""
    if not options.is_live():
        raise NotConfigured
    address = f"{options.OAUTH_URL.value.rstrip('/')}{path}?{urlencode({**params, 'raw_json': '1'})}"
    try:
        return _read(address)
    except ClientRefused as error:
        raise error if error.outcome == Outcome.BUSY or _is_pause(error) else outage.begin(error) from None
    except RequestFailed as error:
        failed, is_enough = error, outage.add_failure()
    with outage.retrying():
        return _retry(address, failed, is_enough=is_enough)


def _retry(address: str, error: RequestFailed, *, is_enough: bool) -> Listing:
    """Try once more, then ask something that concerns no community: if that fails, too, the service is down."""
    known = outage.current()
    if known is not None or is_enough:
        raise known.error() if known and known.is_paused(clock.now()) else outage.begin(error)
    try:
        if error.outcome in (Outcome.UPSTREAM, Outcome.UNREACHABLE):
            _wait_before_retry(address)
            try:
                return _read(address)
            except RequestFailed:
                if outage.add_failure():
                    raise outage.begin(error) from None
        _read(f"{options.OAUTH_URL.value.rstrip('/')}/api/info?id=t3_1&raw_json=1")
    except ClientRefused as refused:
        raise refused if refused.outcome == Outcome.BUSY or _is_pause(refused) else outage.begin(refused) from None
    except RequestFailed:
        raise outage.begin(error) from None
    raise error  # the service answers: only this request fails


def _is_pause(error: ClientRefused) -> bool:
    """Return True if no request was sent, because the pause of an outage lasts."""
    known = outage.current()
    return known is not None and known.is_paused(clock.now()) and known.outcome == error.outcome


def _wait_before_retry(address: str) -> None:
    if not web_rate_limit.is_disabled(address):
        time.sleep(random.uniform(0.5, 1.5))


def _read(address: str) -> Listing:
    """Send one request and parse the listing. A success or a refusal of one community ends an outage."""
    answer, is_failing = _get(address)
    error = error_of(answer)
    if error is not None and not isinstance(error, Refused):
        if error.outcome == Outcome.THROTTLED:
            rate_limit.pause(error.wait_seconds or 60.0)
        raise error
    try:
        listing = parse_listing(answer.body) if error is None else None
    except NotAListing as wrong:
        raise RequestFailed(Outcome.GARBAGE, str(wrong)) from None
    if is_failing:
        outage.end()
    if listing is None:
        assert error is not None
        raise error
    return listing


def _get(address: str) -> tuple[Answer, bool]:
    """Send the request; replace an expired token once. Return the response and whether attempts before it failed."""
    answer, is_failing = _ask(address)
    return (answer, is_failing) if answer.status != 401 else _ask(address)


def _ask(address: str) -> tuple[Answer, bool]:
    token = current_token(_client)
    try:
        with rate_limit.slot() as is_failing:
            answer = _client.get(
                address,
                headers={"User-Agent": options.USER_AGENT.value, "Accept": "application/json"},
                secrets={"Authorization": f"bearer {token}"},
                max_bytes=MAX_RESPONSE_BYTES,
                deadline_seconds=options.REQUEST_TIMEOUT.value,
                follow=0,
                raise_for_status=False,
            )
    except WebError as error:
        raise as_reddit_error(error) from error
    _apply_rate_headers(answer)
    if answer.status == 401:
        discard_token(token)
    return answer, is_failing


def _apply_rate_headers(answer: Answer) -> None:
    remaining = number(answer.headers.get("x-ratelimit-remaining", ""))
    reset = number(answer.headers.get("x-ratelimit-reset", ""))
    if remaining is not None and reset is not None and answer.status != 429:
        rate_limit.apply_headers(remaining, reset)


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from reencrypt(Access.objects.all(), "sealed_token", lambda _row: BINDING, writing)


def follow_shared_link(path: str) -> str:
    """Return where a share link of the website leads, without requesting that page. Raises WebError."""
    parts = urlsplit(options.TOKEN_URL.value)  # the website and the sign-in share a host
    answer = _client.get(
        f"{parts.scheme}://{parts.netloc}{path}", headers={"User-Agent": options.USER_AGENT.value}, max_bytes=100_000,
        deadline_seconds=options.REQUEST_TIMEOUT.value, follow=0,
    )  # fmt: skip
    return answer.headers.get("location", "")
