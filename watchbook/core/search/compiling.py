"""A query as a database can answer it: an expression over the word index, and a condition on the documents' columns.

Both may let too many documents through, never too few: the document itself decides (`Query.is_found`). What one of the
two cannot state is None there, which means every document.

What a query is compared with: a document's texts and attributes, and the names of its kind for `type:`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection

from watchbook.core import registry
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.query import All, Attribute, Either, Node, Not, Words
from watchbook.core.search.tokens import Lookup, attribute_token, searchable


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


# Index lookups per query; longer queries are narrowed by the text itself.
MAX_LOOKUPS = 48


@dataclass(frozen=True)
class Every:
    """Documents that have all of these."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Some:
    """Documents that have at least one of these."""

    parts: tuple[Expression, ...]


Expression = Lookup | Every | Some


@dataclass(frozen=True)
class Condition:
    """SQL on `d`, the row of search_documents, and its parameters."""

    sql: str
    parameters: tuple[Any, ...] = ()


def index_expression(root: Node, *, titled: bool) -> Expression | None:
    """What the word index is asked; `titled`: words are looked for in titles alone."""
    return _Indexing(titled).of(root)


class _Indexing:
    def __init__(self, titled: bool) -> None:
        self.titled = titled
        self.left = MAX_LOOKUPS

    def of(self, node: Node) -> Expression | None:
        if isinstance(node, Words):
            return self._words(node)
        if isinstance(node, Attribute):
            return self._attribute(node)
        if isinstance(node, Not):
            return None
        found = [self.of(child) for child in node.children]
        if isinstance(node, All):
            return _every([each for each in found if each is not None])
        return None if None in found else Some(tuple(each for each in found if each is not None))

    def _words(self, node: Words) -> Expression | None:
        lookups = node.term.lookups[: max(self.left, 0)]
        self.left -= len(lookups)
        return _every([replace(each, in_title=self.titled or node.in_title) for each in lookups])

    def _attribute(self, node: Attribute) -> Expression | None:
        value = str(node.value)
        # A whole source is a column: documents that were not reindexed have no token of it.
        if node.name not in ("author", "in", "site") or (node.name == "in" and "/" not in value) or self.left < 1:
            return None
        self.left -= 1
        return Lookup(attribute_token(node.name, value))


def _every(parts: list[Expression]) -> Expression | None:
    return None if not parts else parts[0] if len(parts) == 1 else Every(tuple(parts))


def column_condition(node: Node) -> Condition | None:
    """What the columns of a document must be."""
    if isinstance(node, Attribute):
        return _column(node)
    if isinstance(node, Words):
        return None
    if isinstance(node, Not):
        # Only of columns that every database compares alike.
        is_plain = isinstance(node.child, Attribute) and node.child.name in ("type", "before", "after", "score")
        inner = column_condition(node.child) if is_plain else None
        return Condition(f"NOT {inner.sql}", inner.parameters) if inner else None
    found = [column_condition(child) for child in node.children]
    if isinstance(node, Either) and None in found:
        return None
    return _combined(" OR " if isinstance(node, Either) else " AND ", [each for each in found if each])


def _combined(between: str, parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    return Condition(
        f"({between.join(part.sql for part in parts)})", tuple(p for part in parts for p in part.parameters)
    )


def _column(node: Attribute) -> Condition:
    value = node.value
    if isinstance(value, datetime):
        sign = "<" if node.name == "before" else ">="
        return Condition(f"(d.occurred_at {sign} %s)", (connection.ops.adapt_datetimefield_value(value),))
    if node.name == "score":
        return Condition(f"(d.score IS NOT NULL AND d.score {node.sign} %s)", (value,))
    text = str(value)
    if node.name == "type":
        kinds = kinds_called(text)
        return Condition(f"(d.kind IN ({', '.join(['%s'] * len(kinds))}))", kinds) if kinds else Condition("(1 = 0)")
    if node.name == "author":
        return Condition("(d.author = %s)", (text,))
    if node.name == "site":
        return Condition("(d.site = %s OR d.site LIKE %s)", (text, f"%.{text}"))
    below = f"{text}/"
    sql = f"(d.source = %s OR d.place = %s OR SUBSTR(d.place, 1, {len(below)}) = %s)"
    return Condition(sql, (text, text, below))
