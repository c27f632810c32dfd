"""Standard Webhooks: secrets written `whsec_…`, and the signature over id, moment and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32
LEAST, MOST = 24, 64


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The bytes behind a secret; ValueError when it is not one."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64") from None
    if not secret.startswith(PREFIX) or not LEAST <= len(key) <= MOST:
        raise ValueError("not a secret of 24 to 64 bytes")
    return key


def signature(secret_list: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """One signature per secret, separated by spaces: during a rotation the receiver may check with either."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(
        "v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
        for secret in secret_list
    )
