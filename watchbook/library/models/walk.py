"""Up and down the tree by recursive queries that begin at the page, not at the roots.

UNION, not UNION ALL, where it decides: should a ring ever be in the data, the walk ends instead of running for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections

UP = """
WITH RECURSIVE up (id, parent_page_id, title) AS (
    SELECT id, parent_page_id, title FROM pages WHERE id = %s
    UNION
    SELECT above.id, above.parent_page_id, above.title FROM pages above JOIN up ON above.id = up.parent_page_id
)
SELECT id, parent_page_id, title FROM up
"""
# For showing, and asked with every page: counted instead of compared, which is quicker, and cut off in a ring.
WAY = """
WITH RECURSIVE up (id, parent_page_id, title, step) AS (
    SELECT id, parent_page_id, title, 0 FROM pages WHERE id = %s
    UNION ALL
    SELECT above.id, above.parent_page_id, above.title, up.step + 1
    FROM up JOIN pages above ON above.id = up.parent_page_id WHERE up.step < 500
)
SELECT id, title FROM up ORDER BY step DESC
"""
# Trashed pages and what hangs below them are passed over.
DOWN = """
WITH RECURSIVE down (id) AS (
    SELECT id FROM pages WHERE id = %s
    UNION
    SELECT below.id FROM pages below JOIN down ON below.parent_page_id = down.id
    WHERE below.deleted_at IS NULL AND below.space_id = %s
)
SELECT id FROM down
"""
LIVE_FROM_ROOTS = """
WITH RECURSIVE down (id) AS (
    SELECT id FROM pages WHERE space_id = %s AND parent_page_id IS NULL AND deleted_at IS NULL
    UNION
    SELECT below.id FROM pages below JOIN down ON below.parent_page_id = down.id
    WHERE below.deleted_at IS NULL AND below.space_id = %s
)
SELECT COUNT(*) FROM down
"""
# MariaDB stops a recursion silently after 1,000 steps unless it is told otherwise.
DEEPER = "SET STATEMENT max_recursive_iterations = 4294967295 FOR "


class Crumb(NamedTuple):
    """One step of the way from the top level to a page."""

    id: UUID
    title: str


def way_to(page_id: UUID) -> list[Crumb]:
    """From the top level down to the page itself; empty when there is no such page. One query."""
    return [Crumb(_uuid(pk), title) for pk, title in _ask(WAY, page_id)]


def ancestors_and_self(page_id: UUID) -> set[UUID]:
    return {_uuid(row[0]) for row in _ask(UP, page_id)}


def subtree(page_id: UUID, space_id: UUID) -> list[UUID]:
    """The page and everything alive below it, parents before their children."""
    return [_uuid(row[0]) for row in _ask(DOWN, page_id, space_id)]


def reachable(space_id: UUID) -> int:
    """How many live pages can be reached from the top level of a space."""
    return int(_ask(LIVE_FROM_ROOTS, space_id, space_id)[0][0])


def whole(ids: Iterable[UUID]) -> list[UUID]:
    """The given pages without those that are below another of them: each subtree is named by its top. One query."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return []
    sql = UP.replace("id = %s", f"id IN ({', '.join(['%s'] * len(wanted))})", 1)
    parents = {_uuid(pk): _uuid(parent) if parent else None for pk, parent, _title in _ask(sql, *wanted)}
    return [pk for pk in wanted if not _is_below(pk, parents, set(wanted))]


def _is_below(pk: UUID, parents: dict[UUID, UUID | None], tops: set[UUID]) -> bool:
    seen: set[UUID] = {pk}
    here = parents.get(pk)
    while here is not None and here not in seen:
        if here in tops:
            return True
        seen.add(here)
        here = parents.get(here)
    return False


def _ask(sql: str, *ids: UUID) -> list[tuple[Any, ...]]:
    # The connection itself: each look through Django's stand-in for it costs as much as a step of the walk.
    database = connections[DEFAULT_DB_ALIAS]
    takes_uuid = database.features.has_native_uuid_field
    with database.cursor() as cursor:
        cursor.execute(
            DEEPER + sql if database.vendor == "mysql" else sql, [pk if takes_uuid else pk.hex for pk in ids]
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    # SQLite has 32 plain digits; read as a number they cost half of what the class needs for a text.
    return UUID(int=int(value, 16)) if len(value) == 32 else UUID(value)
