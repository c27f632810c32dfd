"""Commands that run and keep the house: up, web, doctor, backup, restore."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from watchbook.base.logs.setup import log_uncaught
from watchbook.base.terminal import Failure, Progress, answer, failing_as, with_json
from watchbook.core.ops.address import Bind
from watchbook.core.ops.checked import check_settings


@click.command()
def up() -> None:
    """Start everything: schema, web pages, jobs. The one command of an installation on one machine."""
    from watchbook.core.ops import locks, migrating  # start-up of the smaller commands stays light

    address = check_settings()
    with locks.living_here():
        try:
            done = migrating.migrate_if_needed()
        except locks.Held:
            raise Failure("Another process has been changing the database for ten minutes. Look at it first.") from None
        if done:
            click.echo(f"Database brought up to date ({done} migrations).")
        _serve(address)


@click.command()
def web() -> None:
    """Answer requests; jobs too, unless WATCHBOOK_JOBS=off or a broker is set. Does not change the schema."""
    from watchbook.core.ops import locks, migrating  # start-up of the smaller commands stays light

    address = check_settings()
    with locks.living_here():
        migrating.must_be_done()
        _serve(address)


def _serve(address: Bind) -> None:
    from watchbook.core.ops.server import CannotListen, WebProcess  # imports the runner and every page

    log_uncaught()
    try:
        process = WebProcess(address)
    except CannotListen as error:
        raise Failure(str(error)) from None
    sys.exit(process.run(ready=lambda: _greet(process.address, has_jobs=process.embedded is not None)))


def _greet(address: str, *, has_jobs: bool) -> None:
    from django.urls import reverse  # start-up of the smaller commands stays light

    from watchbook.core.accounts import first_user

    click.echo(f"Watchbook is at {address}")
    if first_user.is_awaited():
        click.echo(
            f"Nobody has an account yet. Sign up at {address}{reverse('account_signup')} and you are the operator."
        )
        click.echo(f"From another machine the sign-up asks for this code: {first_user.setup_code()}")
    if not has_jobs:
        click.echo("No jobs run in this process; start `watchbook worker` and `watchbook beat`.")


@click.command()
@with_json
def doctor(as_json: bool) -> None:
    """Check settings, data folder, keys, disk, database, clock, broker, mail, sites that are set, and workers."""
    from watchbook.core.ops.doctor import examine  # start-up of the smaller commands stays light

    checks = examine()
    lines = [f"{'ok ' if check.ok else 'BAD'}  {check.name:<12} {check.message}" for check in checks]
    answer({"checks": [asdict(check) for check in checks]}, lines, as_json=as_json)
    sys.exit(0 if all(check.ok for check in checks) else 1)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--with-keys", is_flag=True, help="Put the keys inside. Whoever has the file can then open every secret.")
@with_json
def backup(path: Path | None, with_keys: bool, as_json: bool) -> None:
    """Write a backup of database and blobs, and check it. PATH: a file or a folder; without it the backups folder."""
    from watchbook.core.ops.backup import shelf  # start-up of the smaller commands stays light
    from watchbook.core.ops.backup.errors import BackupTrouble
    from watchbook.core.ops.backup.taking import take

    target = shelf.new_path() if path is None else path / shelf.new_path().name if path.is_dir() else path
    progress = Progress()
    with failing_as(as_json):
        try:
            taken = take(
                target.absolute(), with_keys=with_keys, tell=lambda figures: progress(figures) if figures else None
            )
        except BackupTrouble as error:
            raise Failure(str(error), "backup_failed") from None
        finally:
            progress.end()
    contents = taken.manifest
    data = {
        "path": str(taken.path), "bytes": taken.size, "sha256": taken.sha256, "tables": len(contents.tables),
        "rows": contents.rows, "blobs": contents.blobs, "with_keys": with_keys, "verified": True,
    }  # fmt: skip
    keys = (
        "The keys are inside: keep this file as safe as a password."
        if with_keys
        else "The keys are not inside. Keep a copy of the keys folder elsewhere, or sealed values stay locked."
    )
    size = f"{taken.size / 1e6:,.1f} MB" if taken.size > 1e6 else f"{taken.size / 1e3:,.0f} kB"
    found = f"{contents.rows:,} rows in {len(contents.tables)} tables, {contents.blobs:,} blobs, {size}, verified."
    answer(data, [str(taken.path), found, f"sha256 {taken.sha256}", keys], as_json=as_json)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace what is in the database now.")
@with_json
def restore(path: Path, force: bool, as_json: bool) -> None:
    """Put a backup back. Everything in it is checked before anything is changed."""
    from watchbook.core.ops.backup.errors import BackupTrouble  # start-up of the smaller commands stays light
    from watchbook.core.ops.backup.restoring import restore as put_back

    progress = Progress()
    with failing_as(as_json):
        try:
            done = put_back(path, force=force, tell=lambda figures: progress(figures) if figures else None)
        except BackupTrouble as error:
            raise Failure(str(error), "restore_failed") from None
        finally:
            progress.end()
    contents = done.manifest
    data = {
        "made_at": contents.made_at, "rows": contents.rows, "blobs": contents.blobs, "with_keys": contents.with_keys,
        "locked": done.locked, "kept": str(done.kept) if done.kept else None,
    }  # fmt: skip
    lines = [f"Restored the backup of {contents.made_at}: {contents.rows:,} rows, {contents.blobs:,} blobs."]
    if done.kept:
        lines.append(f"What was here before is kept in {done.kept}.")
    if done.locked:
        lines.append("These values are locked, because the key that sealed them is not here:")
        lines += [f"  {where}: {count}" for where, count in done.locked.items()]
        lines.append("Put the old keys folder into the data folder, or enter the values again.")
    lines.append("Everybody has to sign in again.")
    answer(data, lines, as_json=as_json)
