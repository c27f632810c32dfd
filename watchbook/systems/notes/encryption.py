"""Encrypts cookies, hashes authors, and removes cookies and tokens of the platform from texts.

    EncryptionError
    |-- Closed         no usable master key is set. Set COOKIE_MASTER_KEY; no data is lost until then
    `-- DecryptionError     (of base/crypto.py) another key, another row, or damage. The value is left as it is

Written form: `v2:<key id>:<AES-256-GCM>`, or `v1:<key id>:<Fernet token>` where that is chosen. Fernet knows no
associated data, so a v1 value carries the name of the row inside.

The log already masks by name and by value. The names of this platform ("a1", "gid") are not known there, and the seed
asks for a mark of its own, so texts that are stored, returned or searched for secrets pass through `redacted`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from dataclasses import replace
from typing import TypeVar

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.utils.translation import gettext_noop

from watchbook.base.crypto import Cipher, DecryptionError, KeyRing
from watchbook.base.logs import redact
from watchbook.base.logs.redact import remember
from watchbook.base.store.keys import server_key
from watchbook.systems.notes import options
from watchbook.systems.notes.parse.records import CardRecord, CommentRecord, NoteRecord

SHORTEST_KEY = 32
_PAIR = re.compile(r"([\w-]{1,20}):(.+)\Z")

NO_KEY = gettext_noop("The cookie pool is unavailable: COOKIE_MASTER_KEY is not set.")
SHORT_KEY = gettext_noop("The cookie pool is unavailable: a master key is shorter than 32 characters or has no ID.")


class EncryptionError(Exception):
    pass


class PoolUnavailable(EncryptionError):
    """The message says why, for people."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def master_keys() -> dict[str, str]:
    """Master keys by id, the current one first. Raises Closed when there is none that can be used."""
    found: dict[str, str] = {}
    for word in options.COOKIE_MASTER_KEYS.value:
        pair = _PAIR.match(word)
        if pair is None:
            raise PoolUnavailable(SHORT_KEY)
        found[pair[1]] = pair[2]
    single = options.COOKIE_MASTER_KEY.value
    if single:
        found.setdefault(key_id_of(single), single)
    if not found:
        raise PoolUnavailable(NO_KEY)
    if any(len(key) < SHORTEST_KEY for key in found.values()):
        raise PoolUnavailable(SHORT_KEY)
    return found


def key_id_of(master: str) -> str:
    """The id of a key that was given without one: its own hash, so that another key never passes for it."""
    return "m" + hashlib.sha256(b"watchbook notes key id\0" + master.encode()).hexdigest()[:10]


def held_keys() -> dict[str, list[str]]:
    """Setting -> keys, for the comparison with other processes."""
    try:
        cookies = list(master_keys().values())
    except PoolUnavailable:
        cookies = []
    return {"COOKIE_MASTER_KEY": cookies, "NOTES_HASH_KEY": [key] if (key := options.HASH_KEY.value) else []}


def unavailable_reason() -> str:
    """Empty while the vault can be used, else a sentence."""
    try:
        master_keys()
    except PoolUnavailable as closed:
        return closed.message
    return ""


def current_key_id() -> str:
    return next(iter(master_keys()))


def encrypt(plain: str, *, name: str, platform: str) -> tuple[str, str]:
    """The encrypted value and the id of its key."""
    keys = master_keys()
    key_id = next(iter(keys))
    if options.COOKIE_CIPHER.value == "v1":
        inner = json.dumps({"for": _bound_to(name, platform), "cookie": plain}).encode()
        return f"v1:{key_id}:{_fernet(keys[key_id]).encrypt(inner).decode()}", key_id
    return Cipher(KeyRing(keys)).encrypt(plain, bound_to=_bound_to(name, platform)), key_id


def decrypt(encrypted: str, *, name: str, platform: str) -> str:
    """The cookie. What is open in this process is masked in its log from then on."""
    keys = master_keys()
    if encrypted.startswith("v1:"):
        return remember(_open_fernet(encrypted, keys, _bound_to(name, platform)))
    return remember(Cipher(KeyRing(keys)).decrypt(encrypted, bound_to=_bound_to(name, platform)))


def key_id_in(encrypted: str) -> str:
    """Which key an encrypted value names; empty for anything else."""
    parts = encrypted.split(":", 2)
    return parts[1] if len(parts) == 3 and parts[0] in {"v1", "v2"} else ""


def is_current(encrypted: str) -> bool:
    return encrypted.startswith(f"{options.COOKIE_CIPHER.value}:{current_key_id()}:")


def fingerprint(plain: str) -> str:
    return _keyed_hash("cookie", plain)


def author_hash(author_id: str) -> str:
    """The same author has the same hash on this server, and no other server can derive it."""
    return _keyed_hash("author", author_id)[:32] if author_id else ""


def _keyed_hash(purpose: str, value: str) -> str:
    key = options.HASH_KEY.value or server_key("notes_hash_key")
    return hmac.new(key.encode(), f"{purpose}\0{value}".encode(), hashlib.sha256).hexdigest()


def _bound_to(name: str, platform: str) -> str:
    return f"tbl_cookie\0{platform}\0{name}"


def _fernet(master: str) -> Fernet:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"watchbook cookie v1").derive(master.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


def _open_fernet(encrypted: str, keys: dict[str, str], bound_to: str) -> str:
    _version, key_id, token = encrypted.split(":", 2)
    if key_id not in keys:
        raise DecryptionError(f"key {key_id} is not here")
    try:
        inner = json.loads(_fernet(keys[key_id]).decrypt(token.encode()))
    except (InvalidToken, ValueError):
        raise DecryptionError("encrypted with another key, or damaged") from None
    if inner.get("for") != bound_to:
        raise DecryptionError("encrypted for another row")
    return str(inner["cookie"])


R = TypeVar("R", NoteRecord, CardRecord, CommentRecord)

MASK = "***REDACTED***"
# Cookies and tokens of the platform, and the field names under which programs pass a cookie on.
NAMES = (
    "web_session_sec", "web_session", "a1", "webId", "gid", "websectiga", "sec_poison_id", "acw_tc", "xsecappid",
    "id_token", "access_token", "xsec_token", "cookie_value", "cookie_string", "cookies", "cookie", "set-cookie",
)  # fmt: skip
_NAMED = "|".join(re.escape(name) for name in NAMES)
_QUOTED = r"\"(?:[^\"\\\n]|\\.){0,8000}\"|'(?:[^'\\\n]|\\.){0,8000}'"
_BARE = r"[^\s;,&\"'<>}\])]{1,8000}"
# A value that is already a mark, a placeholder or the name of a key is no secret.
_HARMLESS = r"(?!\*\*\*|\"\*\*\*|'\*\*\*|\{\{|\$|…|\"\"|'')"
FOUND = re.compile(rf"(?<![\w.-])({_NAMED})([\"']?\s{{0,3}}[:=]\s{{0,3}}){_HARMLESS}({_QUOTED}|{_BARE})", re.IGNORECASE)


# What the house masked already, in the document's own form.
_BY_THE_HOUSE = re.compile(rf"(?<![\w.-])({_NAMED})([\"']?)(\s{{0,3}}[:=]\s{{0,3}})\*\*\*(?!REDACTED)", re.IGNORECASE)


def redacted(text: str) -> str:
    """The text as it may be stored and answered."""
    masked = _BY_THE_HOUSE.sub(rf"\1\2\3\2{MASK}\2", redact.text(text))
    return FOUND.sub(_masked, masked)


def _masked(found: re.Match[str]) -> str:
    value = found[3]
    quote = value[0] if value[:1] in "\"'" else ""
    return f"{found[1]}{found[2]}{quote}{MASK}{quote}"


def hide_author(record: R) -> R:
    if options.AUTHORS.value == "plain":
        return record
    return replace(record, author_id=author_hash(record.author_id), author_name=masked(record.author_name))


def masked(name: str) -> str:
    """The first character, and that there is more."""
    return f"{name[0]}**" if name else ""
