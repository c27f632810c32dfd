"""`watchbook library`: commands for folder migrations, consistency checks, import and export."""

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
            self.fail(f"{value!r} is not a valid id", param, ctx)


@click.group("library")
def group() -> None:
    """Manage the library."""


@contextmanager
def _refusing(as_json: bool) -> Iterator[None]:
    """Turn a library error into one sentence and exit code 1."""
    from watchbook.systems.library.errors import Problem  # after Django is set up

    with failing_as(as_json):
        try:
            yield
        except Problem as problem:
            raise Failure(problem.message, problem.code) from None


@group.command()
@with_json
def backfill(as_json: bool) -> None:
    """Add missing release channels and page types. Moves no pages; safe to repeat."""
    from watchbook.systems.library.store.reconcile import backfill as fill  # after Django is set up

    progress = Progress()
    with _refusing(as_json):
        filled = fill(progress).as_json()
    progress.end()
    answer(filled, [f"{name}: {count}" for name, count in filled.items()], as_json=as_json)


@group.command("migrate-root")
@click.argument("space", type=_Id())
@click.option("--dry-run", is_flag=True, help="Only list the pages to move.")
@click.option("--folder", type=_Id(), default=None, help="Target folder. Without it, a new folder is created.")
@with_json
def migrate_root(space: UUID, dry_run: bool, folder: UUID | None, as_json: bool) -> None:
    """Move the top-level pages of a space into a folder. Undo with rollback."""
    from watchbook.systems.library.api.migrations import plan_out  # after Django is set up
    from watchbook.systems.library.errors import JobConflict
    from watchbook.systems.library.store import migrations, writing

    with _refusing(as_json):
        found = _space(space)
        if dry_run:
            plan = migrations.plan(found, folder)
            lines = [f"{move.page_id}  {move.title}  ->  {move.new_parent_title}" for move in plan.moves]
            answer(plan_out(plan), [*lines, f"{len(plan.moves)} pages to move", *plan.obstacles], as_json=as_json)
            return
        try:
            with writing(found.pk):
                job = migrations.start(found, None, folder, queued=False)
        except JobConflict as conflict:
            if conflict.code != migrations.NOTHING_TO_MOVE:
                raise
            answer({"id": None, "total_count": 0}, ["No pages to move."], as_json=as_json)
            return
        _run("library.migrate", job)
        _show_job(job.pk, as_json)


@group.command()
@click.argument("job", type=_Id())
@with_json
def rollback(job: UUID, as_json: bool) -> None:
    """Disable folders, move every page of a migration back and check. Pages that users moved since are listed."""
    from watchbook.systems.library.jobs import migrations  # after Django is set up
    from watchbook.systems.library.models import FolderMigrationJob

    with _refusing(as_json):
        found = FolderMigrationJob.objects.filter(pk=job).first()
        if found is None:
            raise Failure("Folder migration not found.", "unknown")
        migrations.begin_rollback(found, None, queued=False)
        _run("library.rollback", found)
        _show_job(found.pk, as_json)


@group.command("clear-meta")
@click.argument("workspace", type=_Id())
@with_json
def clear_meta(workspace: UUID, as_json: bool) -> None:
    """Delete the page types and pins of a workspace in which folders are disabled. Undo types with backfill."""
    from watchbook.systems.library.store.reconcile import clear_meta as clear  # after Django is set up

    with _refusing(as_json):
        cleared = clear(_workspace(workspace))
    answer(cleared, [f"{name}: {count}" for name, count in cleared.items()], as_json=as_json)


@group.command("set-channel")
@click.argument("workspace", type=_Id())
@click.argument("channel")
@with_json
def set_channel(workspace: UUID, channel: str, as_json: bool) -> None:
    """Give a workspace to the deployment of another release channel: prod or staging."""
    from watchbook.systems.library.store import workspaces  # after Django is set up

    with _refusing(as_json):
        workspaces.set_channel(_workspace(workspace), None, channel)
    answer({"workspace_id": str(workspace), "release_channel": channel}, [f"Set to {channel}."], as_json=as_json)


@group.command()
@click.argument("workspace", type=_Id(), required=False)
@with_json
def reconcile(workspace: UUID | None, as_json: bool) -> None:
    """Run the consistency check for one workspace, or for all of this deployment, and store the result."""
    from watchbook.systems.library.models import Workspace  # after Django is set up
    from watchbook.systems.library.store import owned_workspaces, writing_workspace
    from watchbook.systems.library.store.reconcile import keep

    results = []
    with _refusing(as_json):
        in_use = Workspace.objects.there().filter(archived_at=None)
        for found in in_use.filter(pk__in=[workspace] if workspace else owned_workspaces()).order_by("pk"):
            with writing_workspace(found.pk):
                kept = keep(found)
            results.append({"workspace_id": str(found.pk), "ok": kept.is_ok, "checks": kept.checks})
    if workspace and not results:
        raise Failure("Workspace not found, in the trash, or archived.", "unknown")
    is_ok = all(result["ok"] for result in results)
    answer({"ok": is_ok, "workspaces": results}, _check_lines(results), as_json=as_json)
    if not is_ok:
        raise SystemExit(1)


@group.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.argument("space", type=_Id())
@click.option("--below", type=_Id(), default=None, help="Parent page. Without it, the top level.")
@click.option("--dry-run", is_flag=True, help="Only list what would be imported and skipped.")
@with_json
def import_path(path: Path, space: UUID, below: UUID | None, dry_run: bool, as_json: bool) -> None:
    """Import a folder, a zip or one file: Markdown with attachments, exports of other programs, HTML, Word."""
    from watchbook.base.store.folder import scratch  # after Django is set up
    from watchbook.systems.library.jobs.transfer import read_path
    from watchbook.systems.library.store import parent_at, writing
    from watchbook.systems.library.store.pages import add_all, needs_folder, prepare_all

    with _refusing(as_json), scratch("import") as unpacked:
        found = _space(space)
        contents, report = read_path(path, unpacked)
        records = prepare_all(contents.pages)
        count = len(records) + needs_folder(parent_at(found, below), records, contents.files)
        if not dry_run:
            with writing(found.pk):
                title, place = path.stem or "Imported", parent_at(found, below)
                count = len(
                    add_all(place, records, None, wrap_title=title, reason="imported", files=contents.files)
                )  # fmt: skip
    verb = "Would import" if dry_run else "Imported"
    lines = [f"{verb} {count} pages and {len(contents.files)} attachments, skipped {len(report.skipped)} files."]
    lines += [f"  {record.node_type}: {record.new.title}" for record in records] if dry_run else []
    lines += [f"  skipped: {name} ({reason})" for name, reason in report.skipped]
    lines += [f"  not UTF-8, read as Windows-1252: {name}" for name in report.decoded]
    lines += [f"  no such file: {target} (link in {name})" for name, target in report.unresolved]
    unresolved = [{"path": name, "target": target} for name, target in report.unresolved]
    skipped = [{"path": name, "reason": reason} for name, reason in report.skipped]
    told = {"dry_run": dry_run, "page_count": count, "skipped": skipped, "decoded": report.decoded}
    told |= {"unresolved": unresolved, "format": report.format, "attachment_count": len(contents.files)}
    answer(told, lines, as_json=as_json)


@group.command()
@click.argument("space", type=_Id())
@click.argument("path", type=click.Path(path_type=Path))
@with_json
def export(space: UUID, path: Path, as_json: bool) -> None:
    """Export a space: .html, .epub and .pdf are one file, .zip holds Markdown files; everything else is a folder."""
    from watchbook.systems.library.jobs.books import write_epub, write_pdf  # after Django is set up
    from watchbook.systems.library.jobs.transfer import write_folder, write_html, write_zip

    with _refusing(as_json):
        found = _space(space)
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise Failure("The path already exists.", "exists")
        writers = {".zip": write_zip, ".html": write_html, ".epub": write_epub, ".pdf": write_pdf}
        count = writers[path.suffix](found, path) if path.suffix in writers else write_folder(found, path)
    answer(
        {"path": str(path), "entry_count": count}, [f"Exported {count} files and folders to {path}."], as_json=as_json
    )


def _space(space_id: UUID) -> Any:
    from watchbook.systems.library.models import Space  # after Django is set up

    found = Space.objects.there().filter(pk=space_id).select_related("workspace").first()
    if found is None:
        raise Failure("Space not found.", "unknown")
    return found


def _workspace(workspace_id: UUID) -> Any:
    from watchbook.systems.library.models import Workspace  # after Django is set up

    found = Workspace.objects.there().filter(pk=workspace_id).first()
    if found is None:
        raise Failure("Workspace not found.", "unknown")
    return found


def _run(name: str, job: Any) -> None:
    """Run the job in this process, with the run record and lease of a worker."""
    from watchbook.core.jobs.cli import run_or_fail
    from watchbook.core.jobs.runner import run_now  # after Django is set up

    run_or_fail(lambda: run_now(name, {"job_id": str(job.pk)}, exclusive=f"library:{job.space_id}"))


def _show_job(job_id: UUID, as_json: bool) -> None:
    from watchbook.systems.library.api.migrations import job_out  # after Django is set up
    from watchbook.systems.library.models import FolderMigrationJob

    shown = job_out(FolderMigrationJob.objects.select_related("control").get(pk=job_id))
    lines = [f"{name}: {shown[name]}" for name in ("id", "status", "total_count", "success_count", "failed_count")]
    lines += [f"  {item['page_id']}  {item['error_code']}" for item in shown["errors"]]
    answer(shown, lines, as_json=as_json)


def _check_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        yield f"workspace {result['workspace_id']}"
        rows = [
            ("ok" if check["ok"] else "FAILED", check["name"], check["expected"], check["actual"])
            for check in result["checks"]
        ]
        yield from table(rows, ("", "check", "expected", "actual"))
