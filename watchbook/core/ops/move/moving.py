"""The steps of a move: check, make the schema, copy, check again, rebuild the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, transaction

from watchbook.base.store import folder
from watchbook.base.work import crash_point
from watchbook.core.ops import upgrade
from watchbook.core.ops.move import checks, databases, progress, schema
from watchbook.core.ops.move import rows as tables
from watchbook.core.ops.move.databases import SOURCE, CannotMove
from watchbook.core.ops.move.rows import Model, moved_models
from watchbook.core.search import index

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Moved:
    # table -> number of rows and digest, equal on both sides
    tables: dict[str, tuple[int, str]]
    documents: int
    resumed: bool

    @property
    def rows(self) -> int:
        return sum(count for count, _ in self.tables.values())


def move(url: str, report: Report = lambda figures: None) -> Moved:
    """Copy everything into the database at this address. The source stays as it is."""
    try:
        with folder.alone_here():
            checks.refuse_running()
            checks.refuse_old_schema()
            databases.connect(url)
            return _move(report)
    except folder.Held:
        raise CannotMove("Watchbook is running on this data folder. Stop it first.") from None
    except DatabaseError as error:
        raise CannotMove(f"One of the databases does not answer: {type(error).__name__}. Try again.") from error


def _move(report: Report) -> Moved:
    report({"step": "check"})
    source_identity = databases.identity(settings.DATABASES["default"])
    resumed = checks.refuse_foreign_target(source_identity)
    if not resumed:
        checks.refuse_running()
    checks.refuse_other_collation()
    checks.refuse_small_disk()
    checks.refuse_unfit_values()
    _prepare(source_identity)
    schema.release_foreign_keys()
    _allow_key_zero()
    for model in moved_models():
        _copy(model, report)
    report({"step": "references"})
    schema.restore_foreign_keys()
    schema.carry_numbers()
    crash_point("move.copied")
    found = _compared(report)
    report({"step": "search"})
    documents = index.rebuild(lambda done: report({"documents": done}))
    crash_point("move.indexed")
    progress.drop()
    return Moved(found, documents, resumed)


def _prepare(source_identity: str) -> None:
    """Tables as the source has them. Rows that migrations write are deleted: those of the source take their place."""
    if not (progress.exists() and progress.get("emptied")):
        upgrade.drop_half_made(ignored={progress.TABLE})
    progress.create()
    if progress.get("source") is None:
        progress.put("source", source_identity)
    is_emptied = progress.get("emptied")
    if not is_emptied:
        # Not again afterwards: it would write the rows of permissions again.
        call_command("migrate", interactive=False, verbosity=0)
    checks.refuse_other_schema()
    if is_emptied:
        return
    schema.release_foreign_keys()
    with transaction.atomic():
        for model in moved_models():
            table = databases.target().ops.quote_name(model._meta.db_table)
            with databases.target().cursor() as cursor:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - of our models
        progress.put("emptied", True)


def _allow_key_zero() -> None:
    """MariaDB would give a row with key 0 the next number instead."""
    if databases.target().vendor == "mysql":
        with databases.target().cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")


def _copy(model: Model, report: Report) -> None:
    """The rest of one table. Each batch is committed with the key it ended at."""
    name = f"table:{model._meta.db_table}"
    done = progress.get(name) or {"after": None, "rows": 0, "is_done": False}
    if done["is_done"]:
        return
    after = tables.key_from_text(model, done["after"]) if done["after"] is not None else None
    for batch in tables.batches(model, SOURCE, after):
        done["after"] = tables.key_to_text(tables.key_of(model, batch[-1]))
        done["rows"] += len(batch)
        with transaction.atomic():
            tables.write(model, batch)
            progress.put(name, done)
        report({"step": "copy", "table": model._meta.db_table, "rows": done["rows"]})
        crash_point("move.batch")
    progress.put(name, {**done, "is_done": True})


def _compared(report: Report) -> dict[str, tuple[int, str]]:
    """Read both sides again: every table must have the same rows."""
    found: dict[str, tuple[int, str]] = {}
    for model in moved_models():
        table = model._meta.db_table
        report({"step": "verify", "table": table})
        there, here = (tables.summary(model, alias, lambda _rows: report({})) for alias in (SOURCE, "default"))
        if there != here:
            raise CannotMove(
                f"{table} differs: {there[0]:,} rows in the source, {here[0]:,} in the target. Empty the target and"
                " repeat; the source is unchanged."
            )
        found[table] = here
    return found
