"""Where this system keeps values sealed with the house's keys. Cookies have keys of their own: see `vault`."""

from __future__ import annotations

from collections.abc import Iterator

from watchbook.base.store.resealing import Writing, seal_anew
from watchbook.sources.notes.models import Candidate
from watchbook.sources.notes.store.candidates import bound_to


def reseal(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from seal_anew(Candidate.objects.all(), "xsec_token", bound_to, writing)
