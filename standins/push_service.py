"""A push service with one browser behind it: checks the server's signature, decrypts, and keeps what would be shown.

with PushService() as service:
    browser = service.subscribe()
    ... POST to browser["endpoint"] ...
    assert service.shown[0].json()["title"] == "3 pages added"

Paths: /push/<name> takes messages; `service.faults` answers 404, 410, 413, 429 or late. `limit` is the largest body.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from standins.messages import Answer, Request
from standins.process import arguments, run
from standins.server import Site

POINT = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
LONGEST_TOKEN = 86_400


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class Shown:
    """A message that the browser could read."""

    name: str
    plain: bytes
    ttl: int
    urgency: str
    topic: str

    def json(self) -> Any:
        return json.loads(self.plain)


class Browser:
    """The keys of one subscription."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)

    def read(self, body: bytes) -> bytes:
        return bytes(http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth, version="aes128gcm"))


class PushService(Site):
    """Answers 201 with a place, as browsers' push services do, or the reason why not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.browsers: dict[str, Browser] = {}
        self.shown: list[Shown] = []
        self.limit = 4096
        # The clock of the service; the tests of a frozen clock set it.
        self.now = time.time

    def ledger_json(self) -> object:
        return [{"name": each.name, "topic": each.topic, "message": each.json()} for each in self.shown]

    def subscribe(self, name: str = "phone") -> dict[str, str]:
        browser = self.browsers.setdefault(name, Browser())
        return {
            "endpoint": self.address(f"/push/{name}"),
            "p256dh": b64(browser.key.public_key().public_bytes(*POINT)),
            "auth": b64(browser.auth),
        }

    def respond(self, request: Request) -> Answer:
        name = request.path.removeprefix("/push/")
        browser = self.browsers.get(name)
        if browser is None:
            return Answer(404)
        if refused := self._refused(request):
            return refused
        try:
            plain = browser.read(request.body)
        except (ValueError, http_ece.ECEException):
            return Answer.json({"error": "cannot be decrypted"}, status=400)
        headers = request.headers
        shown = Shown(name, plain, int(headers.get("ttl")), headers.get("urgency"), headers.get("topic"))
        self.shown.append(shown)
        place = self.address(f"/message/{hashlib.sha256(plain).hexdigest()[:12]}")
        return Answer(201, headers=(("Location", place),))

    def _refused(self, request: Request) -> Answer | None:
        headers = request.headers
        if len(request.body) > self.limit:
            return Answer.json({"error": "too large"}, status=413)
        if headers.get("content-encoding") != "aes128gcm" or not headers.get("ttl").isdigit():
            return Answer.json({"error": "headers"}, status=400)
        if len(headers.get("topic")) > 32 or headers.get("urgency") not in ("very-low", "low", "normal", "high"):
            return Answer.json({"error": "topic or urgency"}, status=400)
        if not self._is_signed(headers.get("authorization")):
            return Answer.json({"error": "vapid"}, status=403)
        return None

    def _is_signed(self, header: str) -> bool:
        """RFC 8292: signed by the key it names, for this origin, not longer than a day, with a contact."""
        scheme, _, rest = header.partition(" ")
        values = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
        try:
            head, claims, mark = values["t"].split(".")
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(values["k"]))
            raw = unb64(mark)
            signature = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            key.verify(signature, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
            said = json.loads(unb64(claims))
        except (KeyError, ValueError, InvalidSignature):
            return False
        left = said["exp"] - self.now()
        is_known = said["sub"].startswith(("mailto:", "https://")) and json.loads(unb64(head))["alg"] == "ES256"
        return scheme == "vapid" and is_known and said["aud"] == self.url.rstrip("/") and 0 < left <= LONGEST_TOKEN


def main(argv: list[str] | None = None) -> None:
    given = arguments("push", __doc__).parse_args(argv)
    service = PushService(host=given.host, port=given.port)
    run({"url": service.url, **service.subscribe()}, service)


if __name__ == "__main__":
    main(sys.argv[1:])
