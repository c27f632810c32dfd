"""Re-encrypts the secrets of this system with the newest key."""

from __future__ import annotations

from collections.abc import Iterator

from watchbook.base.crypto import Writing, reencrypt
from watchbook.systems.reddit.fetch.client import BINDING
from watchbook.systems.reddit.models import Access


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from reencrypt(Access.objects.all(), "sealed_token", lambda _row: BINDING, writing)
