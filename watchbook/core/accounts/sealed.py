"""Where this room keeps sealed values that last: second steps. Sessions end by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from allauth.mfa.models import Authenticator

from watchbook.base.store.resealing import SEALED, Writing, anew
from watchbook.core.accounts.adapter import MfaAdapter


def reseal(writing: Writing) -> Iterator[tuple[str, str]]:
    for row in Authenticator.objects.order_by("pk"):
        words: list[tuple[str, str]] = []
        data = _walked(row.data, words)
        if any(word == SEALED for word, _old in words):
            with writing():
                # Only what was read is replaced: a code that was used meanwhile stays used.
                kept = Authenticator.objects.select_for_update().get(pk=row.pk)
                if kept.data == row.data:
                    kept.data = data
                    kept.save(update_fields=["data"])
        yield from words


def _walked(value: Any, words: list[tuple[str, str]]) -> Any:
    """The same shape with every sealed text sealed anew."""
    if isinstance(value, dict):
        return {name: _walked(part, words) for name, part in value.items()}
    if isinstance(value, list):
        return [_walked(part, words) for part in value]
    if not isinstance(value, str) or not value.startswith("v2:"):
        return value
    word, new = anew(value, MfaAdapter.BOUND_TO)
    words.append((word, value))
    return new
