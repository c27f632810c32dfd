"""One request to Reddit: token, turn, answer, meaning. Every attempt is one request and is counted as one."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from watchbook.base.web import pace
from watchbook.base.web.answer import Answer
from watchbook.base.web.client import Client
from watchbook.base.web.errors import WebError
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch import token as tokens
from watchbook.sources.reddit.fetch import turns
from watchbook.sources.reddit.fetch.classify import number, trouble_of
from watchbook.sources.reddit.fetch.errors import Lost, NotConfigured, Stop
from watchbook.sources.reddit.models import Outcome
from watchbook.sources.reddit.parse import Listing, NotAListing, parse_listing

LARGEST_ANSWER = 16 * 1024 * 1024
INFO_IDS = 100
# A sick server is asked three times at most: once more at once costs less than a whole visit.
TRIES = 3

# The house's pace lets one request at a time through to a host. Reddit allows more, counted over a minute and by all
# processes together: `turns` does that, so this client leaves it out.
_client = Client(is_paced=False)
os.register_at_fork(after_in_child=_client.forget)


def fetch_listing(
    subreddit: str, sort: str = "new", *, limit: int = 100, after: str | None = None, time_filter: str = ""
) -> Listing:
    """One page of a community's listing."""
    params = {"limit": str(limit)} | ({"after": after} if after else {}) | ({"t": time_filter} if time_filter else {})
    return _listing(f"/r/{quote(subreddit, safe='')}/{sort}", params)


def fetch_by_id(post_ids: Sequence[str]) -> Listing:
    """Posts by id, a hundred at most; those that Reddit does not know are simply not there."""
    assert len(post_ids) <= INFO_IDS
    return _listing("/api/info", {"id": ",".join(f"t3_{post_id}" for post_id in post_ids)})


def _listing(path: str, params: Mapping[str, str]) -> Listing:
    if not options.is_live():
        raise NotConfigured
    address = f"{options.OAUTH_URL.value.rstrip('/')}{path}?{urlencode({**params, 'raw_json': '1'})}"
    for attempt in range(1, TRIES + 1):
        try:
            return parse_listing(_get(address).body)
        except NotAListing as error:
            raise Lost(Outcome.GARBAGE, str(error)) from None
        except Lost as lost:
            if lost.outcome not in (Outcome.UPSTREAM, Outcome.UNREACHABLE) or attempt == TRIES:
                raise
            if not pace.is_off(address):
                time.sleep(random.uniform(0.5, 1.5) * attempt)
    raise AssertionError("unreachable")


def _get(address: str) -> Answer:
    """A dead token is replaced once; everything else that is not data is raised as what it means."""
    answer = _ask(address)
    if answer.status == 401:
        answer = _ask(address)
    trouble = trouble_of(answer)
    if trouble is None:
        return answer
    if trouble.outcome == Outcome.THROTTLED:
        turns.pause(trouble.wait_seconds or 60.0)
    raise trouble


def _ask(address: str) -> Answer:
    token = tokens.current_token(_client)
    try:
        with turns.turn():
            answer = _client.get(
                address,
                headers={"User-Agent": options.USER_AGENT.value, "Accept": "application/json"},
                secrets={"Authorization": f"bearer {token}"},
                max_bytes=LARGEST_ANSWER,
                deadline_seconds=options.REQUEST_TIMEOUT.value,
                follow=0,
                raise_for_status=False,
            )
    except WebError as error:
        raise _worded(error) from error
    _heed(answer)
    if answer.status == 401:
        tokens.forget_token(token)
    return answer


def _heed(answer: Answer) -> None:
    remaining = number(answer.headers.get("x-ratelimit-remaining", ""))
    reset = number(answer.headers.get("x-ratelimit-reset", ""))
    if remaining is not None and reset is not None and answer.status != 429:
        turns.heed(remaining, reset)


def _worded(error: WebError) -> Stop | Lost:
    if error.code in {"refused", "private_address", "bad_port"}:
        return Stop(Outcome.AUTH, f"the address of the API is refused: {error.code}")
    return Lost(Outcome.UNREACHABLE if error.is_temporary else Outcome.GARBAGE, error.code)
