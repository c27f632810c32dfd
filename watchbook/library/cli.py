"""`watchbook library`: the steps of introducing folders, and texts in and out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from watchbook.base.terminal import Failure, Progress, answer, failing_as, table, with_json


class _Id(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    name = "ID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> UUID:
        try:
            return value if isinstance(value, UUID) else UUID(str(value))
        except ValueError:
            self.fail(f"{value!r} is not an id", param, ctx)


@click.group("library")
def group() -> None:
    """Folders and pages."""


@contextmanager
def _refusing(as_json: bool) -> Iterator[None]:
    """What the library refuses is one sentence and exit code 1."""
    from watchbook.library.errors import Problem  # after Django is set up

    with failing_as(as_json):
        try:
            yield
        except Problem as problem:
            raise Failure(problem.message, problem.code) from None


@group.command()
@with_json
def backfill(as_json: bool) -> None:
    """Give every old workspace its channel and every old page its type. Moves nothing; safe to repeat."""
    from watchbook.library.store.backfill import backfill as fill  # after Django is set up

    progress = Progress()
    with _refusing(as_json):
        filled = fill(progress).as_json()
    progress.end()
    answer(filled, [f"{name}: {count}" for name, count in filled.items()], as_json=as_json)


@group.command("migrate-root")
@click.argument("space", type=_Id())
@click.option("--dry-run", is_flag=True, help="Only list what would be moved.")
@click.option("--folder", type=_Id(), default=None, help="An existing folder; without it a new one is made.")
@with_json
def migrate_root(space: UUID, dry_run: bool, folder: UUID | None, as_json: bool) -> None:
    """Move the files of a space's top level into a folder. Can be taken back with rollback."""
    from watchbook.library.api.shapes import plan_out  # after Django is set up
    from watchbook.library.store import migration
    from watchbook.library.store.lock import writing

    with _refusing(as_json):
        found = _space(space)
        if dry_run:
            plan = migration.plan(found, folder)
            lines = [f"{move.page_id}  {move.title}  ->  {move.new_parent_title}" for move in plan.moves]
            answer(plan_out(plan), [*lines, f"{len(plan.moves)} files", *plan.obstacles], as_json=as_json)
            return
        with writing(found.pk):
            job = migration.start(found, None, folder, queued=False)
        _run("library.migrate", job)
        _show_job(job.pk, as_json)


@group.command()
@click.argument("job", type=_Id())
@with_json
def rollback(job: UUID, as_json: bool) -> None:
    """Put every page of a job back to where it was; what was moved since is left alone and listed."""
    from watchbook.library.jobs import steer  # after Django is set up
    from watchbook.library.models import FolderMigrationJob

    with _refusing(as_json):
        found = FolderMigrationJob.objects.filter(pk=job).first()
        if found is None:
            raise Failure("There is no such job.", "unknown")
        steer.begin_rollback(found, None, queued=False)
        _run("library.rollback", found)
        _show_job(found.pk, as_json)


@group.command()
@click.argument("workspace", type=_Id(), required=False)
@with_json
def reconcile(workspace: UUID | None, as_json: bool) -> None:
    """Compare the books of one workspace or of all that this deployment owns, and store the result."""
    from watchbook.library.models import Workspace  # after Django is set up
    from watchbook.library.store.guard import owned_workspaces, writing_workspace
    from watchbook.library.store.reconcile import keep

    results = []
    with _refusing(as_json):
        in_use = Workspace.objects.there().filter(archived_at=None)
        for found in in_use.filter(pk__in=[workspace] if workspace else owned_workspaces()).order_by("pk"):
            with writing_workspace(found.pk):
                kept = keep(found)
            results.append({"workspace_id": str(found.pk), "ok": kept.is_ok, "checks": kept.checks})
    if workspace and not results:
        raise Failure("There is no such workspace in use.", "unknown")
    is_ok = all(result["ok"] for result in results)
    answer({"ok": is_ok, "workspaces": results}, _check_lines(results), as_json=as_json)
    if not is_ok:
        raise SystemExit(1)


@group.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.argument("space", type=_Id())
@click.option("--below", type=_Id(), default=None, help="The page that takes them; without it the top level.")
@with_json
def import_path(path: Path, space: UUID, below: UUID | None, as_json: bool) -> None:
    """Markdown files of a folder or zip become pages."""
    from watchbook.library.jobs.transfer import read_path  # after Django is set up
    from watchbook.library.store.imports import add_all
    from watchbook.library.store.lock import writing
    from watchbook.library.store.rules import place_at

    with _refusing(as_json):
        found = _space(space)
        records = read_path(path)
        with writing(found.pk):
            made = add_all(place_at(found, below), records, None, wrap_title=path.stem or "Imported", reason="imported")
    answer({"page_count": len(made)}, [f"{len(made)} pages"], as_json=as_json)


@group.command()
@click.argument("space", type=_Id())
@click.argument("path", type=click.Path(path_type=Path))
@with_json
def export(space: UUID, path: Path, as_json: bool) -> None:
    """A space as Markdown files: a zip when the path ends in .zip, else a folder."""
    from watchbook.library.jobs.transfer import write_folder, write_zip  # after Django is set up

    with _refusing(as_json):
        found = _space(space)
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise Failure("There is something at that path already.", "exists")
        count = write_zip(found, path) if path.suffix == ".zip" else write_folder(found, path)
    answer({"path": str(path), "entry_count": count}, [f"{count} files and folders in {path}"], as_json=as_json)


def _space(space_id: UUID) -> Any:
    from watchbook.library.models import Space  # after Django is set up

    found = Space.objects.there().filter(pk=space_id).select_related("workspace").first()
    if found is None:
        raise Failure("There is no such space.", "unknown")
    return found


def _run(name: str, job: Any) -> None:
    """Here and now, with the row, lease and verdict of a worker."""
    from watchbook.core.jobs.errors import GiveUp  # after Django is set up
    from watchbook.core.jobs.models import State
    from watchbook.core.jobs.runner import run_now

    try:
        run = run_now(name, {"job_id": str(job.pk)}, exclusive=f"library:{job.space_id}")
    except GiveUp as error:
        raise Failure(str(error), error.code) from None
    if run.state != State.DONE:
        raise Failure(run.error or "It did not come to an end; see the jobs page.", run.error_code or "failed")


def _show_job(job_id: UUID, as_json: bool) -> None:
    from watchbook.library.api.shapes import job_out  # after Django is set up
    from watchbook.library.models import FolderMigrationJob

    shown = job_out(FolderMigrationJob.objects.select_related("control").get(pk=job_id))
    lines = [f"{name}: {shown[name]}" for name in ("id", "status", "total_count", "success_count", "failed_count")]
    lines += [f"  {item['page_id']}  {item['error_code']}" for item in shown["errors"]]
    answer(shown, lines, as_json=as_json)


def _check_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        yield f"workspace {result['workspace_id']}"
        rows = [
            ("ok" if check["ok"] else "WRONG", check["name"], check["expected"], check["actual"])
            for check in result["checks"]
        ]
        yield from table(rows, ("", "check", "expected", "actual"))
