"""What a query is compared with: a document's texts and attributes, and the names of its kind for `type:`."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from watchbook.core import registry
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.tokens import searchable


class DocumentFields:
    """A stored document as the query language sees it. Texts are folded when they are first read."""

    def __init__(self, document: SearchDocument) -> None:
        self.document = document
        # May be set to another one, for comparing what a document was before.
        self.score: int | None = document.score

    @cached_property
    def title(self) -> str:
        return searchable(self.document.title)

    @cached_property
    def body(self) -> str:
        return searchable(self.document.body)

    @property
    def author(self) -> str:
        return self.document.author

    @property
    def source(self) -> str:
        return self.document.source

    @property
    def place(self) -> str:
        return self.document.place

    @property
    def site(self) -> str:
        return self.document.site

    @cached_property
    def types(self) -> frozenset[str]:
        return types_of(self.document.kind)

    @property
    def occurred_at(self) -> datetime:
        return self.document.occurred_at


def known_kinds() -> dict[str, str]:
    """Every kind of document and the system it belongs to."""
    return {kind.name: source.slug for source in registry.sources() for kind in source.search_kinds}


def types_of(kind: str) -> frozenset[str]:
    """The names of a kind: its own, the last word of it, and those that its system declares."""
    declared = [each for source in registry.sources() for each in source.search_kinds if each.name == kind]
    return frozenset({kind, *(word for each in declared for word in (*each.types, kind.rpartition("_")[2]))})


def kinds_called(name: str) -> tuple[str, ...]:
    """The kinds that have this name; also one that no system declares any more."""
    return tuple(dict.fromkeys([*(kind for kind in known_kinds() if name in types_of(kind)), name]))


def type_names() -> list[str]:
    """The short name of each kind, for the help of the query language."""
    kinds = [kind for source in registry.sources() for kind in source.search_kinds]
    return list(dict.fromkeys((*kind.types, kind.name.rpartition("_")[2])[0] for kind in kinds))
