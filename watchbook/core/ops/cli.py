"""Commands of the server: up, web, health, doctor, settings, backup, restore, move."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from watchbook.base.env import require
from watchbook.base.logs import log_uncaught
from watchbook.base.terminal import Failure, Progress, answer, failing_as, table, with_json, with_now
from watchbook.core.ops.server import Bind, check_settings


@click.command()
def up() -> None:
    """Start everything on one machine: database migrations, web pages and jobs."""
    from watchbook.base.store import folder  # start-up of the smaller commands stays light
    from watchbook.core.ops import upgrade

    address = check_settings()
    with folder.living_here():
        done = upgrade.migrate_if_needed()
        if done.pending:
            click.echo(f"Database migrated ({len(done.pending)} migrations).")
        _serve(address)


@click.command()
@click.option(
    "--server",
    type=click.Choice(["waitress", "granian"]),
    default="waitress",
    show_default=True,
    help="waitress: one process. granian: several processes (WATCHBOOK_WEB_PROCESSES); needs the extra granian.",
)
def web(server: str) -> None:
    """Serve web pages, and run jobs unless WATCHBOOK_JOBS=off or a broker is set. Does not migrate the database."""
    from watchbook.base.store import folder  # start-up of the smaller commands stays light
    from watchbook.core.ops import upgrade

    address = check_settings()
    with folder.living_here():
        upgrade.require_migrated()
        if server == "granian":
            require("granian", "granian", "--server is granian")
            from watchbook.core.ops.processes import serve  # only where it is chosen

            log_uncaught()
            serve(address, ready=lambda at, has_jobs: _greet(at, has_jobs=has_jobs))
        else:
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

    from watchbook.core.accounts import access

    click.echo(f"Watchbook is at {address}")
    if access.has_no_users():
        click.echo(f"There is no account yet. Sign up at {address}{reverse('account_signup')} to become the operator.")
        click.echo(f"Setup code, needed from another machine: {access.setup_code()}")
    if not has_jobs:
        click.echo("This process runs no jobs. Start `watchbook worker` and `watchbook beat`.")


@click.command()
@with_json
def doctor(as_json: bool) -> None:
    """Check settings, data folder, keys, disk, database, clock, broker, mail, configured sites and workers."""
    from watchbook.core.ops.doctor import examine  # start-up of the smaller commands stays light

    checks = examine()
    lines = [f"{'ok ' if check.ok else 'BAD'}  {check.name:<12} {check.message}" for check in checks]
    answer({"checks": [asdict(check) for check in checks]}, lines, as_json=as_json)
    sys.exit(0 if all(check.ok for check in checks) else 1)


@click.command()
@click.option("--source", default="", help="Only this source, with everything that it watches.")
@with_now
@with_json
def health(source: str, now: datetime | None, as_json: bool) -> None:
    """Show the health of every source: last success, last failure, reason, next attempt. Exit code 1 if one fails."""
    from watchbook.base import clock  # start-up of the smaller commands stays light
    from watchbook.core import registry
    from watchbook.core.ops.api import item_out, source_out
    from watchbook.core.ops.health import source_group

    slugs = [each.slug for each in registry.sources()]
    with failing_as(as_json), clock.set_to(now or clock.now()):
        if source and source not in slugs:
            raise Failure(f"There is no source {source}. Sources: {', '.join(slugs)}.", "unknown_source")
        found = [source_group(registry.source(slug), None, None) for slug in slugs if source in ("", slug)]
        groups = [group for group in found if group is not None]
        data = [source_out(group) | {"watched": [item_out(item) for item in group.items]} for group in groups]
    lines = [line for each in data for line in _health_lines(each, with_watched=bool(source))]
    answer({"sources": data}, lines, as_json=as_json)
    sys.exit(1 if any(group.health.needs_attention for group in groups) else 0)


def _health_lines(each: dict[str, Any], *, with_watched: bool) -> list[str]:
    shown = [(each["source"], each)]
    if with_watched:
        shown += [(f"  {item['title']}", item) for item in each["watched"]]
    return [
        f"{name:<24} {row['state']:<12} last success {_moment(row['last_success_at'])}, "
        f"next attempt {_moment(row['next_try_at'])}  {row['reason']}".rstrip()
        for name, row in shown
    ]


def _moment(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else "no data"


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--with-keys", is_flag=True, help="Include the keys. Anyone with the file can then decrypt every secret.")
@with_json
def backup(path: Path | None, with_keys: bool, as_json: bool) -> None:
    """Write a backup of database and blobs to PATH (file or folder, default: the backups folder) and verify it."""
    from watchbook.core.accounts import audit  # start-up of the smaller commands stays light
    from watchbook.core.ops import backup
    from watchbook.core.ops.backup.archive import BackupError
    from watchbook.core.ops.backup.taking import take

    target = backup.new_path() if path is None else path / backup.new_path().name if path.is_dir() else path
    progress = Progress()
    with failing_as(as_json):
        try:
            taken = take(
                target.absolute(), with_keys=with_keys, report=lambda figures: progress(figures) if figures else None
            )
        except BackupError as error:
            raise Failure(str(error), "backup_failed") from None
        finally:
            progress.end()
    audit.record("backup.made", subject=taken.path.name, by="command", with_keys=with_keys)
    contents = taken.manifest
    data = {
        "path": str(taken.path), "bytes": taken.size, "sha256": taken.sha256, "tables": len(contents.tables),
        "rows": contents.rows, "blobs": contents.blobs, "with_keys": with_keys, "verified": True,
        "missing_blobs": contents.missing_blobs,
    }  # fmt: skip
    keys = (
        "The backup contains the keys. Protect the file like a password."
        if with_keys
        else "The backup does not contain the keys. Keep a copy of the keys folder in another location."
    )
    size = f"{taken.size / 1e6:,.1f} MB" if taken.size > 1e6 else f"{taken.size / 1e3:,.0f} kB"
    found = f"{contents.rows:,} rows in {len(contents.tables)} tables, {contents.blobs:,} blobs, {size}, verified."
    lines = [str(taken.path), found, f"sha256 {taken.sha256}", keys]
    if contents.missing_blobs:
        lost = contents.missing_blobs[0][:12]
        lines.append(f"{len(contents.missing_blobs)} blobs are missing, such as {lost}. Run `watchbook doctor`.")
    answer(data, lines, as_json=as_json)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace what is in the database now.")
@click.option("--incomplete", is_flag=True, help="Restore a backup although blobs were missing when it was made.")
@with_json
def restore(path: Path, force: bool, incomplete: bool, as_json: bool) -> None:
    """Restore a backup. Watchbook verifies it before it changes anything."""
    from watchbook.core.ops.backup.archive import BackupError  # start-up of the smaller commands stays light
    from watchbook.core.ops.backup.restoring import restore as put_back

    progress = Progress()
    with failing_as(as_json):
        try:
            done = put_back(
                path,
                force=force,
                allow_incomplete=incomplete,
                report=lambda figures: progress(figures) if figures else None,
            )
        except BackupError as error:
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
        lines.append(f"The previous data is in {done.kept}.")
    if done.locked:
        lines.append("These values cannot be decrypted, because their key is missing:")
        lines += [f"  {where}: {count}" for where, count in done.locked.items()]
        lines.append("Copy the old keys folder into the data folder, or enter the values again.")
    lines.append("All users have to sign in again.")
    answer(data, lines, as_json=as_json)


@click.command()
@click.option("--to", "url", required=True, metavar="DATABASE_URL", help="Address of the empty target database.")
@with_json
def move(url: str, as_json: bool) -> None:
    """Copy everything to another database (SQLite, PostgreSQL or MariaDB) and compare both. The source is not changed.

    Repeat the command if it was interrupted: the move continues. Stop Watchbook first.
    """
    from watchbook.core.ops.move.databases import CannotMove  # start-up of the smaller commands stays light
    from watchbook.core.ops.move.moving import move as move_all

    progress = Progress()
    with failing_as(as_json):
        try:
            done = move_all(url, lambda figures: progress(figures) if figures else None)
        except CannotMove as error:
            raise Failure(str(error), "move_failed") from None
        finally:
            progress.end()
    tables = {name: {"rows": count, "digest": digest} for name, (count, digest) in done.tables.items()}
    data = {"rows": done.rows, "documents": done.documents, "resumed": done.resumed, "tables": tables}
    lines = [
        f"{done.rows:,} rows in {len(tables)} tables moved. Both databases have the same rows and digests.",
        f"The search index has {done.documents:,} documents.",
        "Set DATABASE_URL to the new address and start Watchbook. Keep the data folder: it has the keys and the files.",
    ]
    answer(data, lines, as_json=as_json)


@click.group()
def settings() -> None:
    """Show and store settings that apply without a restart. Environment variables win."""


@settings.command("get")
@click.argument("name", required=False)
@with_json
def get_settings(name: str | None, as_json: bool) -> None:
    """Show one setting or all that can be stored. Secrets are never shown."""
    from watchbook.core.ops import stored  # after Django is set up
    from watchbook.core.ops.api import setting_out

    with failing_as(as_json):
        found = [each for each in stored.listed() if name in {None, each.name}]
        if not found:
            raise Failure(f"There is no setting {name} that can be stored.", "unknown_setting")
        lines = table(
            [[each.name, "(secret)" if each.option.secret else each.text, each.origin] for each in found],
            ("NAME", "VALUE", "FROM"),
        )
        rows = [{**setting_out(each), "changed_at": each.changed_at and each.changed_at.isoformat()} for each in found]
        answer({"settings": rows}, lines, as_json=as_json)


@settings.command("groups")
@with_json
def list_groups(as_json: bool) -> None:
    """List the groups of settings with the result of their last test or use. Exit code 1 if one fails."""
    from watchbook.core.ops.api import settings_group_out  # after Django is set up
    from watchbook.core.ops.settings_page import shown_groups

    found = [settings_group_out(each) for each in shown_groups()]
    lines = table([[each["name"], each["state"], each["answer"]] for each in found], ("GROUP", "STATE", "ANSWER"))
    answer({"groups": found}, lines, as_json=as_json)
    sys.exit(1 if any(each["state"] == "failing" for each in found) else 0)


@settings.command("test")
@click.argument("name")
@with_json
def test_group(name: str, as_json: bool) -> None:
    """Test the saved values of a group and show what the other side answered. Exit code 1 if it fails."""
    from watchbook.core.ops.settings_page import groups, run_test  # after Django is set up

    with failing_as(as_json):
        known = {group.name: group for group in groups().values() if group.test}
        if name not in known:
            raise Failure(f"There is no group {name} with a test. Groups: {', '.join(known)}.", "unknown_group")
        steps = run_test(known[name], None)
    lines = [f"{'ok ' if step.is_ok else 'BAD'}  {step.text}" for step in steps]
    answer({"name": name, "steps": [asdict(step) for step in steps]}, lines, as_json=as_json)
    sys.exit(0 if all(step.is_ok for step in steps) else 1)


@settings.command("set")
@click.argument("name")
@click.argument("value", required=False)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the value from standard input, for secrets.")
@with_json
def set_setting(name: str, value: str | None, from_stdin: bool, as_json: bool) -> None:
    """Store a setting. Without a value the default applies again."""
    from watchbook.core.ops import stored  # after Django is set up

    given = sys.stdin.read().strip() if from_stdin else value
    with failing_as(as_json):
        try:
            changed = stored.save({name: given})
        except stored.CannotStore as error:
            raise Failure(f"{error.field}: {error}", "wrong_setting") from None
        done = f"{name} stored." if given else f"{name} uses its default."
        answer({"name": name, "changed": bool(changed)}, [done if changed else "Nothing changed."], as_json=as_json)
