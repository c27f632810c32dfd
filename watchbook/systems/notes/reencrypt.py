"""Where this system keeps values sealed with the house's keys. Cookies have keys of their own: see `vault`."""

from __future__ import annotations

from collections.abc import Iterator

from watchbook.base.crypto import Writing, reencrypt
from watchbook.systems.notes.models import Candidate, Creator
from watchbook.systems.notes.store import creators
from watchbook.systems.notes.store.candidates import bound_to


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from reencrypt(Candidate.objects.all(), "xsec_token", bound_to, writing)
    for column in ("platform_id", "xsec_token"):
        yield from reencrypt(Creator.objects.all(), column, creators.bound_to, writing)
