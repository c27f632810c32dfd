"""Encryption of stored secrets, re-encryption with a new key, and the key files.

Values are encrypted with AES-256-GCM and bound to a name, so that a value copied to another row is refused.
Stored form: `v2:<key id>:<base64 of nonce + ciphertext>`.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import models

from watchbook.base.logs.redact import remember

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


class DecryptionError(Exception):
    """The value was encrypted with another key or for another row, or is damaged."""


@dataclass(frozen=True)
class KeyRing:
    """Master keys by id. The first encrypts; all decrypt."""

    masters: Mapping[str, str] = field(repr=False)

    @property
    def current(self) -> str:
        return next(iter(self.masters))

    def cipher(self, key_id: str) -> AESGCM:
        # Imported here and below: most commands decrypt no secret.
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        master = self.masters.get(key_id)
        if master is None:
            raise DecryptionError(f"key {key_id} is not here")
        derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"watchbook seal v2").derive(
            master.encode()
        )
        return AESGCM(derived)


class Cipher:
    """Encrypts and decrypts with one key ring."""

    def __init__(self, ring: KeyRing) -> None:
        self.ring = ring

    def encrypt(self, plain: str, *, bound_to: str) -> str:
        key_id = self.ring.current
        nonce = os.urandom(NONCE_BYTES)
        encrypted = self.ring.cipher(key_id).encrypt(nonce, plain.encode(), f"{key_id}\0{bound_to}".encode())
        return f"v2:{key_id}:{base64.b64encode(nonce + encrypted).decode()}"

    def decrypt(self, encrypted: str, *, bound_to: str) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            version, key_id, body = encrypted.split(":", 2)
            raw = base64.b64decode(body, validate=True)
        except ValueError:
            raise DecryptionError("not an encrypted value") from None
        if version != "v2":
            raise DecryptionError(f"unknown form {version}")
        try:
            plain = self.ring.cipher(key_id).decrypt(
                raw[:NONCE_BYTES], raw[NONCE_BYTES:], f"{key_id}\0{bound_to}".encode()
            )
        except (InvalidTag, ValueError):
            raise DecryptionError("encrypted with another key or for another row") from None
        return plain.decode()


def _default_cipher() -> Cipher:
    from django.conf import settings  # the ring is a setting; base itself runs without Django

    return Cipher(KeyRing(settings.SECRETS_KEYS))


def encrypt(plain: str, *, bound_to: str) -> str:
    """Encrypt with the key ring of the settings."""
    return _default_cipher().encrypt(plain, bound_to=bound_to)


def key_of(encrypted: str) -> str:
    """Return the id of the key that a value was encrypted with."""
    return encrypted.split(":", 2)[1] if encrypted.count(":") >= 2 else ""


def is_current(encrypted: str) -> bool:
    """Return whether a value is encrypted with the current key."""
    return encrypted.startswith(f"v2:{_default_cipher().ring.current}:")


def decrypt(encrypted: str, *, bound_to: str) -> str:
    # A decrypted value must not reach the log of this process.
    return remember(_default_cipher().decrypt(encrypted, bound_to=bound_to))


class KeyFileError(Exception):
    """A key file cannot be used. The message names the file and what to do."""


def secret_file(path: Path, *, size: int = 48) -> str:
    """Read the secret in this file; create the file first if it does not exist.

    The value is written to a private temporary file and then linked to its name: link() fails if another process was
    faster, and both then read the same complete file.
    """
    if not path.exists():
        _make(path, secrets.token_urlsafe(size))
    value = path.read_text(encoding="ascii", errors="replace").strip()
    if len(value) < 32:
        raise KeyFileError(f"{path} is empty or damaged. Put the old key back, or remove the file to make a new one.")
    if path.stat().st_mode & 0o077:
        raise KeyFileError(f"{path} can be read by others. Run: chmod 600 {path}")
    return value


def _make(path: Path, value: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(value + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was faster: its key is used
    finally:
        draft.unlink()


BATCH = 200
REENCRYPTED, CURRENT, LOCKED = "sealed", "current", "locked"

_is_checking: ContextVar[bool] = ContextVar("is_checking", default=False)

Writing = Callable[[], AbstractContextManager[None]]


def reencrypt(
    rows: models.QuerySet[Any], column: str, bound_to: Callable[[Any], str], writing: Writing
) -> Iterator[tuple[str, str]]:
    """Re-encrypt a column row by row; a killed process is only interrupted. Yield (state, old value) of each row."""
    for row in _in_order(rows.exclude(**{column: ""})):
        old = getattr(row, column)
        word, new = reencrypt_value(old, bound_to(row))
        if word == REENCRYPTED:
            with writing():
                # A value saved in between is encrypted with the new key already, and stays.
                rows.model._base_manager.filter(pk=row.pk, **{column: old}).update(**{column: new})
        yield word, old


def reencrypt_value(old: str, bound_to: str) -> tuple[str, str]:
    """Return (state, value): encrypted with the current key, or unchanged if it is already or cannot be decrypted."""
    if _is_checking.get():
        return _opened(old, bound_to), old
    if is_current(old):
        return CURRENT, old
    try:
        return REENCRYPTED, encrypt(decrypt(old, bound_to=bound_to), bound_to=bound_to)
    except DecryptionError:
        return LOCKED, old


def _opened(old: str, bound_to: str) -> str:
    try:
        decrypt(old, bound_to=bound_to)
    except DecryptionError:
        return LOCKED
    return CURRENT


def first_opens(values: Callable[[Writing], Iterator[tuple[str, str]]]) -> bool | None:
    """Try to decrypt the first value that the function finds, without writing. None: it finds no value."""
    with _checking():
        found = next(values(nullcontext), None)
    return None if found is None else found[0] != LOCKED


@contextmanager
def _checking() -> Iterator[None]:
    before = _is_checking.set(True)
    try:
        yield
    finally:
        _is_checking.reset(before)


def _in_order(rows: models.QuerySet[Any]) -> Iterator[Any]:
    """By key in batches: no cursor of the database stays open while rows are written."""
    rows = rows.order_by("pk")
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:BATCH])
