"""The `watchbook` program. Groups are imported when they are named, so that a small command starts fast.

House commands live in `cli.py` of the core rooms, each system's in its own `cli.py`; any other word is one of
Django's own commands (`migrate`, `shell`, ...).
"""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from watchbook import __version__
from watchbook.base.env import InvalidSetting
from watchbook.base.logs import hide_tracebacks

# command -> module that has a click command of that name
HOUSE = {
    "up": "watchbook.core.ops.cli",
    "web": "watchbook.core.ops.cli",
    "health": "watchbook.core.ops.cli",
    "doctor": "watchbook.core.ops.cli",
    "settings": "watchbook.core.ops.cli",
    "backup": "watchbook.core.ops.cli",
    "restore": "watchbook.core.ops.cli",
    "move": "watchbook.core.ops.cli",
    "worker": "watchbook.core.jobs.cli",
    "beat": "watchbook.core.jobs.cli",
    "jobs": "watchbook.core.jobs.cli",
    "people": "watchbook.core.people.cli",
    "users": "watchbook.core.accounts.cli",
    "tokens": "watchbook.core.accounts.cli",
    "mcp": "watchbook.core.api.mcp.cli",
    "docs": "watchbook.project.manual",
    "new-source": "watchbook.project.new_source",
}
# Commands that run until they are stopped.
SERVING = {"up", "web", "worker", "beat"}
# Commands that must find the database as it is, or need none.
NO_TABLES = {*SERVING, "backup", "doctor", "move", "restore", "docs", "new-source"}
ONE_PAGE = 4096
DJANGO_LISTED = ("migrate", "shell", "dbshell", "check")


class Program(click.Group):
    """Knows the names of all commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from watchbook.core import registry  # only for the help page

        slugs = [package.rsplit(".", 1)[1] for package in registry.packages() if find_spec(f"{package}.cli")]
        return [*HOUSE, *slugs, *DJANGO_LISTED]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in HOUSE:
            command: click.Command = getattr(import_module(HOUSE[name]), name.replace("-", "_"))
            return command
        for package in (f"watchbook.systems.{name}", f"watchbook.{name}"):
            if name.isidentifier() and _has(package, "source") and _has(package, "cli"):
                group: click.Command = import_module(f"{package}.cli").group
                return group
        return _django_command(name)


def _has(package: str, module: str) -> bool:
    try:
        return find_spec(f"{package}.{module}") is not None
    except ModuleNotFoundError:
        return False


def _django_command(name: str) -> click.Command | None:
    if name not in _django_names():
        return None

    @click.command(
        name, context_settings={"ignore_unknown_options": True, "help_option_names": []}, help="Django's own command."
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def run(arguments: tuple[str, ...]) -> None:
        from django.core.management import execute_from_command_line

        with _protected(name, arguments):
            execute_from_command_line(["watchbook", name, *arguments])

    return run


def _protected(name: str, arguments: tuple[str, ...]) -> AbstractContextManager[object]:
    """For `migrate`: one process at a time, and a backup first. A forced one may also go back to an older schema."""
    if name != "migrate" or {"--help", "-h", "--plan", "--check", "--list"} & set(arguments):
        return nullcontext()
    from watchbook.core.ops.upgrade import upgrading  # needs the settings

    return upgrading(is_forced=any(not word.startswith("-") and not word.isdigit() for word in arguments))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="watchbook")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def program(ctx: click.Context, debug: bool) -> None:
    """Watch websites, forums and communities, keep every version, and get notified of changes."""
    name = ctx.invoked_subcommand
    if {"--help", "-h"} & set(sys.argv):
        return
    # `doctor` reports every setting and continues; `up` and `web` stop at the first.
    if name not in {"doctor", "up", "web"}:
        from watchbook.core.ops.server import check_settings  # needs the settings

        check_settings()
    needs_tables = name not in NO_TABLES and name not in _django_names()
    if needs_tables and "parse" not in sys.argv:
        _make_first_tables()
    if needs_tables or name in SERVING:
        from watchbook.core.ops import keys, stored  # needs the settings

        if name in SERVING:
            keys.refuse_others()
            stored.follow()
        else:
            stored.load()


def _make_first_tables() -> None:
    """The first command on a new machine should work, not talk of missing tables. Only for a file of our own."""
    from django.conf import settings
    from django.db import connection

    file = Path(str(settings.DATABASES["default"]["NAME"]))
    # Left behind by a command that was killed while it migrated.
    mark = file.with_name(f"{file.name}.creating")
    # One page is the file that `doctor` leaves: it was opened, and has no tables.
    is_new = connection.vendor == "sqlite" and (mark.exists() or not file.exists() or file.stat().st_size <= ONE_PAGE)
    if is_new:
        from watchbook.core.ops.upgrade import migrate_if_needed

        click.echo("watchbook: creating the database …", err=True)
        connection.ensure_connection()  # a folder that is missing is said by the database
        mark.touch()
        migrate_if_needed()
        mark.unlink(missing_ok=True)


def _django_names() -> set[str]:
    from django.core.management import get_commands

    return set(get_commands())


def main() -> None:
    debug = "--debug" in sys.argv[1:3]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    if not debug and not SERVING & set(sys.argv[1:2]):
        hide_tracebacks()
    try:
        _prepare()
        program.main(prog_name="watchbook")
    except InvalidSetting as error:
        _end(str(error), "wrong_setting", debug)
    except Exception as error:  # the last resort: a sentence for people, the traceback on request
        _end(*_worded(error), debug)
    finally:
        _checkpoint()


def _checkpoint() -> None:
    """At the end of every command: the SQLite file is complete without its log, so that a copy of it alone is, too."""
    if "django.db" in sys.modules:
        from watchbook.base.store.folder import checkpoint

        checkpoint()


def _worded(error: Exception) -> tuple[str, str]:
    """Expected errors as a sentence; others, which are faults of Watchbook, by their name; and a code for each."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}.", "file"
    if type(error).__name__ in {"OperationalError", "InterfaceError"}:  # Django's, or that of a database itself
        said, *_more = str(error).strip().splitlines() or [""]
        return f"The database cannot be used: {said}.", "database"
    return f"{type(error).__name__}: {error}", "unexpected"


def _prepare() -> None:
    if sys.argv[1:] != ["--version"]:
        import django

        # What is loaded now stays for the life of the process. Searching it for garbage takes a fifth of the start.
        gc.disable()
        django.setup()
        gc.freeze()
        gc.enable()


def _end(message: str, code: str, debug: bool) -> None:
    from watchbook.base.logs import redact  # an error may quote a setting

    if debug:
        import traceback  # only on request

        click.echo(redact.text(traceback.format_exc()), err=True)
    click.echo(f"watchbook: {redact.text(message)}", err=True)
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": {"code": code, "message": redact.text(message)}}, ensure_ascii=False))
    sys.exit(1)


def run(*arguments: str, **extra: Any) -> Any:
    """For tests: the program in this process."""
    return program.main(list(arguments), prog_name="watchbook", standalone_mode=False, **extra)
