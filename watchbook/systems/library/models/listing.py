"""One screen of children, and how many pages spaces have, read with plain SQL.

Every view of the tree asks for it. Through the ORM, composing the query and building 100 objects took five to ten times
as long as the database did. Rows become pages without their text, which is loaded when something asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.base import ModelState

from watchbook.systems.library.models.pages import NodeType, Page

# Not EXISTS, for which PostgreSQL reads all pages once, although 100 rows are shown. In the order of the index, or it
# reads all pages for each row where one folder has nearly all of them.
COLUMNS = (
    "p.id, p.title, p.sort_key, p.version, p.created_by_id, p.updated_by_id, {moments}, m.node_type, m.is_pinned, "
    "(SELECT 1 FROM pages below WHERE below.space_id = p.space_id "
    "AND below.parent_page_id = p.id AND below.deleted_at IS NULL ORDER BY below.sort_key, below.id LIMIT 1)"
)
MOMENTS = ("p.created_at", "p.updated_at", "p.moved_at", "m.pinned_at")
# For PostgreSQL: Django's reader of moments took as long as all else that this process does for a list.
AS_MICROSECONDS = "(date_part('epoch', {moment}) * 1000000)::bigint"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HERE = "p.space_id = %s AND p.parent_page_id {parent} AND p.deleted_at IS NULL"
# CROSS, so that SQLite begins with the pins of the space, of which there are few, not with 4,000 children.
PINNED = f"""
SELECT {COLUMNS} FROM page_node_meta m CROSS JOIN pages p
WHERE p.id = m.page_id AND m.space_id = %s AND m.is_pinned = TRUE AND {HERE} {{after}}
ORDER BY m.pinned_at DESC, p.id LIMIT %s
"""  # noqa: S608 - of constants
OTHERS = f"""
SELECT {COLUMNS} FROM pages p LEFT JOIN page_node_meta m ON m.page_id = p.id
WHERE {HERE} AND (m.page_id IS NULL OR m.is_pinned = FALSE) {{after}}
ORDER BY p.{{column}} {{way}}, p.id LIMIT %s
"""  # noqa: S608 - of constants; the column is one of ORDERS


def pinned(
    space_id: UUID, parent_id: UUID | None, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[Page]:
    """Return pinned children, the newest pin first; behind the pin of this moment and page."""
    sql = PINNED.format(
        moments=_moments(), parent=_is(parent_id), after="AND " + _after("m.pinned_at", "<") if after else ""
    )
    return _pages(sql, [space_id, space_id, parent_id, *_thrice(after), limit], space_id, parent_id)


def others(
    space_id: UUID, parent_id: UUID | None, limit: int, *, column: str, is_backwards: bool,
    after: tuple[Any, UUID] | None = None,
) -> list[Page]:  # fmt: skip
    """Return children that are not pinned, by a column; behind the page with this value."""
    beyond = f"AND {_after(f'p.{column}', '<' if is_backwards else '>')}" if after else ""
    way = "DESC" if is_backwards else "ASC"
    sql = OTHERS.format(moments=_moments(), parent=_is(parent_id), after=beyond, column=column, way=way)
    return _pages(sql, [space_id, parent_id, *_thrice(after), limit], space_id, parent_id)


# Pages of a space are counted up to this number.
MOST_COUNTED = 10_000
# A SELECT of SQLite has at most 500 parts.
SPACES_AT_ONCE = 200
SOME_OF = "(SELECT 1 AS one FROM pages WHERE space_id = %s AND deleted_at IS NULL LIMIT {most})"


def count_pages(space_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return how many live pages each space has; `MOST_COUNTED + 1` means all greater numbers.

    One query for 200 spaces. A count without an end takes a second for a million pages.
    """
    some = SOME_OF.format(most=MOST_COUNTED + 1)
    found: dict[UUID, int] = {}
    for start in range(0, len(space_ids), SPACES_AT_ONCE):
        asked = space_ids[start : start + SPACES_AT_ONCE]
        parts = [f"SELECT {n}, COUNT(*) FROM {some} pages_{n}" for n in range(len(asked))]  # noqa: S608 - of numbers
        found |= {asked[n]: count for n, count in _rows(" UNION ALL ".join(parts), asked)}
    return found


def _moments() -> str:
    is_postgres = connections[DEFAULT_DB_ALIAS].vendor == "postgresql"
    return ", ".join(AS_MICROSECONDS.format(moment=moment) if is_postgres else moment for moment in MOMENTS)


def _is(parent_id: UUID | None) -> str:
    return "IS NULL" if parent_id is None else "= %s"


def _after(column: str, sign: str) -> str:
    return f"{column} {sign}= %s AND ({column} {sign} %s OR p.id > %s)"


def _thrice(after: tuple[Any, UUID] | None) -> list[Any]:
    return [after[0], after[0], after[1]] if after else []


def _rows(sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    database = connections[DEFAULT_DB_ALIAS]
    takes_uuid, adapted = database.features.has_native_uuid_field, database.ops.adapt_datetimefield_value

    def as_stored(value: Any) -> Any:
        if isinstance(value, UUID):
            return value if takes_uuid else value.hex
        return adapted(value) if isinstance(value, datetime) else value

    with database.cursor() as cursor:
        cursor.execute(sql, [as_stored(value) for value in values if value is not None])
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _pages(sql: str, values: Iterable[Any], space_id: UUID, parent_id: UUID | None) -> list[Page]:
    users: dict[Any, UUID | None] = {None: None}
    return [_page(row, space_id, parent_id, users) for row in _rows(sql, values)]


def _page(row: tuple[Any, ...], space_id: UUID, parent_id: UUID | None, users: dict[Any, UUID | None]) -> Page:
    (pk, title, sort_key, version, created_by, updated_by, created_at, updated_at, moved_at,
     pinned_at, node_type, is_pinned, has_children) = row  # fmt: skip
    for user in (created_by, updated_by):
        if user not in users:
            users[user] = as_uuid(user)
    page = Page.__new__(Page)
    state = ModelState()
    state.adding, state.db = False, DEFAULT_DB_ALIAS
    # What is not set here is a deferred field, as after defer().
    page.__dict__.update(
        _state=state, id=as_uuid(pk), space_id=space_id, parent_page_id=parent_id, title=title, sort_key=sort_key,
        version=version, created_by_id=users[created_by], updated_by_id=users[updated_by],
        created_at=_moment(created_at),
        updated_at=_moment(updated_at), moved_at=_moment(moved_at), deleted_at=None, trash_batch_id=None,
        node_type=node_type or NodeType.FILE.value, is_pinned=bool(is_pinned), pinned_at=_moment(pinned_at),
        has_children=bool(has_children),
    )  # fmt: skip
    return page


def as_uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    # SQLite has 32 plain digits; read as a number they cost half of what the class needs for a text.
    return UUID(int=int(value, 16)) if len(value) == 32 else UUID(value)


def _moment(stored: datetime | int | None) -> datetime | None:
    """SQLite and MariaDB keep moments of UTC without saying so; PostgreSQL is asked for microseconds."""
    if stored is None:
        return None
    return EPOCH + timedelta(microseconds=stored) if isinstance(stored, int) else stored.replace(tzinfo=UTC)
