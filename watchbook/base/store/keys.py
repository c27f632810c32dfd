"""Keys that the server makes itself and that all its processes need: encrypted rows, not files of one machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from watchbook.base import clock
from watchbook.base.crypto import Writing, decrypt, encrypt, reencrypt
from watchbook.base.store.models import ServerKey

# Database and name -> key. Only keys whose row is committed: another process may make one until then.
_known: dict[tuple[str, str], str] = {}


def server_key(name: str) -> str:
    """The key of this name. It is made when it is first needed, or taken from the data folder of an older version."""
    place = (str(connection.settings_dict["NAME"]), name)
    if place in _known:
        return _known[place]
    row = ServerKey.objects.filter(pk=name).first() or _make(name)
    key = decrypt(row.sealed, bound_to=bound_to(name))
    if connection.in_atomic_block:
        transaction.on_commit(lambda: _known.update({place: key}))
    else:
        _known[place] = key
    return key


def _make(name: str) -> ServerKey:
    """Of two processes that make it at the same time, both use the key of the first."""
    file = Path(settings.HOME) / "keys" / name
    key = file.read_text().strip() if file.is_file() else secrets.token_urlsafe(48)
    values = {"sealed": encrypt(key, bound_to=bound_to(name)), "created_at": clock.now()}
    return ServerKey.objects.get_or_create(name=name, defaults=values)[0]


def bound_to(name: str) -> str:
    return f"server key {name}"


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    return reencrypt(ServerKey.objects.all(), "sealed", lambda row: bound_to(row.name), writing)
