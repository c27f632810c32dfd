"""Cookies at rest: sealed with a named master key, bound to the row, never guessed at when a key is missing.

    VaultTrouble
    |-- Closed         no usable master key is set. Set COOKIE_MASTER_KEY; nothing is lost meanwhile
    `-- CannotOpen     (of base/crypto) another key, another row, or damage. The value is left as it is

Written form: `v2:<key id>:<AES-256-GCM>`, or `v1:<key id>:<Fernet token>` where that is chosen. Fernet knows no
associated data, so a v1 value carries the row's name inside.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext_noop

from watchbook.base.crypto import CannotOpen, KeyRing, Seal, secret_file
from watchbook.base.logs.known import remember
from watchbook.sources.notes import options

SHORTEST_KEY = 32
_PAIR = re.compile(r"([\w-]{1,20}):(.+)\Z")

NO_KEY = gettext_noop("The cookie pool is closed: COOKIE_MASTER_KEY is not set.")
SHORT_KEY = gettext_noop("The cookie pool is closed: a master key is shorter than 32 characters or has no id.")


class VaultTrouble(Exception):
    pass


class Closed(VaultTrouble):
    """The message says why, for people."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def masters() -> dict[str, str]:
    """Master keys by id, the sealing one first. Raises Closed when there is none that can be used."""
    found: dict[str, str] = {}
    for word in options.COOKIE_MASTER_KEYS.value:
        pair = _PAIR.match(word)
        if pair is None:
            raise Closed(SHORT_KEY)
        found[pair[1]] = pair[2]
    single = options.COOKIE_MASTER_KEY.value
    if single:
        found.setdefault(key_id_of(single), single)
    if not found:
        raise Closed(NO_KEY)
    if any(len(key) < SHORTEST_KEY for key in found.values()):
        raise Closed(SHORT_KEY)
    return found


def key_id_of(master: str) -> str:
    """The id of a key that was given without one: its own hash, so that another key never passes for it."""
    return "m" + hashlib.sha256(b"watchbook notes key id\0" + master.encode()).hexdigest()[:10]


def why_closed() -> str:
    """Empty while the vault can be used, else a sentence."""
    try:
        masters()
    except Closed as closed:
        return closed.message
    return ""


def current_key_id() -> str:
    return next(iter(masters()))


def close(plain: str, *, name: str, platform: str) -> tuple[str, str]:
    """The sealed value and the id of its key."""
    keys = masters()
    key_id = next(iter(keys))
    if options.COOKIE_CIPHER.value == "v1":
        inner = json.dumps({"for": _bound_to(name, platform), "cookie": plain}).encode()
        return f"v1:{key_id}:{_fernet(keys[key_id]).encrypt(inner).decode()}", key_id
    return Seal(KeyRing(keys)).close(plain, bound_to=_bound_to(name, platform)), key_id


def open_(sealed: str, *, name: str, platform: str) -> str:
    """The cookie. What is open in this process is masked in its log from then on."""
    keys = masters()
    if sealed.startswith("v1:"):
        return remember(_open_fernet(sealed, keys, _bound_to(name, platform)))
    return remember(Seal(KeyRing(keys)).open(sealed, bound_to=_bound_to(name, platform)))


def key_id_in(sealed: str) -> str:
    """Which key a sealed value names; empty for anything that is not a sealed value."""
    parts = sealed.split(":", 2)
    return parts[1] if len(parts) == 3 and parts[0] in {"v1", "v2"} else ""


def is_current(sealed: str) -> bool:
    return sealed.startswith(f"{options.COOKIE_CIPHER.value}:{current_key_id()}:")


def fingerprint(plain: str) -> str:
    return _keyed_hash("cookie", plain)


def author_hash(author_id: str) -> str:
    """The same author has the same hash on this installation, and no other installation can tell."""
    return _keyed_hash("author", author_id)[:32] if author_id else ""


def _keyed_hash(purpose: str, value: str) -> str:
    key = secret_file(Path(settings.HOME) / "keys" / "notes_hash_key")
    return hmac.new(key.encode(), f"{purpose}\0{value}".encode(), hashlib.sha256).hexdigest()


def _bound_to(name: str, platform: str) -> str:
    return f"tbl_cookie\0{platform}\0{name}"


def _fernet(master: str) -> Fernet:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"watchbook cookie v1").derive(master.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


def _open_fernet(sealed: str, keys: dict[str, str], bound_to: str) -> str:
    _version, key_id, token = sealed.split(":", 2)
    if key_id not in keys:
        raise CannotOpen(f"key {key_id} is not here")
    try:
        inner = json.loads(_fernet(keys[key_id]).decrypt(token.encode()))
    except (InvalidToken, ValueError):
        raise CannotOpen("sealed with another key, or damaged") from None
    if inner.get("for") != bound_to:
        raise CannotOpen("sealed for another row")
    return str(inner["cookie"])
