"""A webhook endpoint: stores every delivery byte by byte, responds as scripted, and verifies signatures.

with WebhookSink() as sink:
    sink.plan("/hook", "500", "429:30", "ok")
    ...
    first, second, third = sink.deliveries("/hook")
    assert third.attempt == 3 and third.is_signed_with("whsec_...")
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from standins.faults import Rule
from standins.messages import Answer, Headers, Request
from standins.process import arguments, run
from standins.server import Site

ID, STAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def verify(secret: str, headers: Headers, body: bytes, *, now: float | None = None, tolerance: float = 300) -> bool:
    """Standard Webhooks: any `v1` signature over id, timestamp and exact body, and a timestamp close to now."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    name, stamp = headers.get(ID), headers.get(STAMP)
    if not name or not stamp.isdigit() or abs((time.time() if now is None else now) - int(stamp)) > tolerance:
        return False
    mine = base64.b64encode(hmac.new(key, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest())
    theirs = [piece.partition(",") for piece in headers.get(SIGNATURE).split()]
    return any(version == "v1" and hmac.compare_digest(mine, mark.encode()) for version, _, mark in theirs)


@dataclass(frozen=True, eq=False)
class Delivery:
    """One attempt. `id` is the id header, or empty; `status` is None when nothing was answered."""

    id: str
    attempt: int
    request: Request
    status: int | None

    @property
    def headers(self) -> Headers:
        return self.request.headers

    @property
    def body(self) -> bytes:
        return self.request.body

    @property
    def monotonic(self) -> float:
        return self.request.monotonic

    def json(self) -> Any:
        return self.request.json()

    def is_signed_with(self, secret: str, *, now: float | None = None, tolerance: float = 300) -> bool:
        return verify(secret, self.headers, self.body, now=now, tolerance=tolerance)


class WebhookSink(Site):
    """Says 200 to everything on any path unless set otherwise by `plan` or by `faults`."""

    def respond(self, request: Request) -> Answer:
        return Answer.json({"ok": True})

    def deliveries(self, path: str | None = None) -> list[Delivery]:
        """Everything that came, in order; attempts are counted by id."""
        seen: Counter[str] = Counter()
        found = []
        for request in self.log.all(path):
            name = request.headers.get(ID)
            seen[name] += 1
            found.append(Delivery(name, seen[name], request, self.log.status_of(request)))
        return found

    def ids(self, path: str | None = None) -> Counter[str]:
        """How often each id came."""
        return Counter(delivery.id for delivery in self.deliveries(path))

    def wait_for(self, count: int, path: str | None = None, timeout: float = 5.0) -> list[Delivery]:
        """Wait until so many deliveries have come and been answered."""
        self.log.wait_for(lambda log: len(log.all(path)) >= count and not log.in_flight, timeout)
        return self.deliveries(path)

    def plan(self, path: str, *answers: str) -> None:
        """What to say to the first, second, ... delivery from now on; the last answer stays.

        `ok`, any status (`500`), `429:30` (Retry-After), `307:/other` (Location), `hang`, `reset` (after the body
        has been read), `slow:2` (seconds, then ok).
        """
        for number, answer in enumerate(answers, 1):
            is_last = number == len(answers)
            rule = self.faults.on(path, from_nth=number) if is_last else self.faults.on(path, nth=number)
            _script(rule, answer)

    def actions(self) -> dict[str, Callable[..., Any]]:
        return {"plan": lambda path, answers: self.plan(path, *answers)}

    def ledger_json(self) -> object:
        return {
            "deliveries": [
                {"id": one.id, "attempt": one.attempt, **one.request.as_json(one.status)} for one in self.deliveries()
            ]
        }


def _script(rule: Rule, answer: str) -> None:
    word, _, detail = answer.partition(":")
    if word == "ok":
        rule.delay(0)
    elif word == "hang":
        rule.hang()
    elif word == "reset":
        rule.reset_before_headers()
    elif word == "slow":
        rule.delay(float(detail))
    elif word.startswith("3"):
        rule.redirect(detail, int(word))
    else:
        rule.answer(int(word), "no\n", {"Retry-After": detail} if detail else {})


def main(argv: list[str] | None = None) -> None:
    given = arguments("webhooks", __doc__).parse_args(argv)
    sink = WebhookSink(host=given.host, port=given.port)
    run({"url": sink.url}, sink)


if __name__ == "__main__":
    main(sys.argv[1:])
