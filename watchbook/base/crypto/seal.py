"""Sealed values: AES-256-GCM, key id in the clear, bound to a name so that a value moved to another row is refused.

Written form: `v2:<key id>:<base64 of nonce + ciphertext>`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchbook.base.logs.known import remember

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


class CannotOpen(Exception):
    """The value was sealed with another key, for another row, or is damaged. It is left as it is."""


@dataclass(frozen=True)
class KeyRing:
    """Master keys by id. The first seals; all open."""

    masters: Mapping[str, str] = field(repr=False)

    @property
    def current(self) -> str:
        return next(iter(self.masters))

    def cipher(self, key_id: str) -> AESGCM:
        # Loaded here and below: most commands open no secret.
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        master = self.masters.get(key_id)
        if master is None:
            raise CannotOpen(f"key {key_id} is not here")
        derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"watchbook seal v2").derive(
            master.encode()
        )
        return AESGCM(derived)


class Seal:
    """Seals and opens with one key ring."""

    def __init__(self, ring: KeyRing) -> None:
        self.ring = ring

    def close(self, plain: str, *, bound_to: str) -> str:
        key_id = self.ring.current
        nonce = os.urandom(NONCE_BYTES)
        sealed = self.ring.cipher(key_id).encrypt(nonce, plain.encode(), f"{key_id}\0{bound_to}".encode())
        return f"v2:{key_id}:{base64.b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, bound_to: str) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            version, key_id, body = sealed.split(":", 2)
            raw = base64.b64decode(body, validate=True)
        except ValueError:
            raise CannotOpen("not a sealed value") from None
        if version != "v2":
            raise CannotOpen(f"unknown form {version}")
        try:
            plain = self.ring.cipher(key_id).decrypt(
                raw[:NONCE_BYTES], raw[NONCE_BYTES:], f"{key_id}\0{bound_to}".encode()
            )
        except (InvalidTag, ValueError):
            raise CannotOpen("sealed with another key or for another row") from None
        return plain.decode()


def _house() -> Seal:
    from django.conf import settings  # the ring is a setting; base itself runs without Django

    return Seal(KeyRing(settings.SECRETS_KEYS))


def seal(plain: str, *, bound_to: str) -> str:
    """Seal with the house's own key ring."""
    return _house().close(plain, bound_to=bound_to)


def key_of(sealed: str) -> str:
    """The id of the key that a value was sealed with."""
    return sealed.split(":", 2)[1] if sealed.count(":") >= 2 else ""


def is_current(sealed: str) -> bool:
    """Is it sealed with the key that seals now?"""
    return sealed.startswith(f"v2:{_house().ring.current}:")


def open_sealed(sealed: str, *, bound_to: str) -> str:
    # What is open in this process must not reach its log.
    return remember(_house().open(sealed, bound_to=bound_to))
