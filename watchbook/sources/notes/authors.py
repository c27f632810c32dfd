"""Whose note it is, as far as we want to know: a keyed hash and a masked name, unless the operator says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from watchbook.sources.notes import options, vault
from watchbook.sources.notes.parse.records import CardRecord, NoteRecord

R = TypeVar("R", NoteRecord, CardRecord)


def hidden(record: R) -> R:
    if options.AUTHORS.value == "plain":
        return record
    return replace(record, author_id=vault.author_hash(record.author_id), author_name=masked(record.author_name))


def masked(name: str) -> str:
    """The first character, and that there is more."""
    return f"{name[0]}**" if name else ""
