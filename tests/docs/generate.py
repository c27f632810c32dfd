"""docs/reference is made from the program itself: options, commands, jobs, endpoints, tables. `make docs` writes it.

It also writes down the digests of new migrations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.docs import migrations

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
LINE_END = "\n"
MADE = "<!-- Made by `make docs`; change the program, not this page. -->\n\n"


def pages() -> dict[str, str]:
    """File name to text, for every generated page."""
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "options.md": options,
        "commands.md": commands,
        "jobs.md": jobs,
        "api.md": endpoints,
        "tables.md": tables,
    }
    return {name: MADE + "\n".join(make()) + "\n" for name, make in makers.items()}


def options() -> Iterator[str]:
    from watchbook.base import env

    import_options()
    yield "# Options"
    yield ""
    yield "Environment variables, or lines of a `.env` file in the folder where Watchbook is started."
    for room, names in _by_room(env.declared()).items():
        yield f"\n## {room}\n"
        yield "| name | default | what it does |"
        yield "|---|---|---|"
        for option in names:
            yield f"| `{option.name}` | {_default(option)} | {option.help}{_bounds(option)} |"


def import_options() -> None:
    """Every `options.py` of the package, so that everything is declared."""
    package = Path(__file__).resolve().parents[2] / "watchbook"
    for path in sorted(package.rglob("options.py")):
        import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))


def _by_room(declared: Any) -> dict[str, list[Any]]:
    import sys

    rooms: dict[str, list[Any]] = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith("watchbook.") and name.endswith(".options"):
            room = name.removeprefix("watchbook.").removesuffix(".options").rsplit(".", 1)[-1]
            for value in vars(module).values():
                if declared.get(getattr(value, "name", "")) is value and value not in rooms.get(room, []):
                    rooms.setdefault(room, []).append(value)
    return rooms


def _default(option: Any) -> str:
    if option.name == "WATCHBOOK_HOME":
        return "`~/.watchbook`"
    value = option.default
    if value in ("", (), None) or value == frozenset():
        return "empty"
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _bounds(option: Any) -> str:
    parts = []
    if option.choices:
        parts.append("one of " + ", ".join(f"`{choice}`" for choice in option.choices))
    if option.minimum is not None:
        parts.append(f"at least {option.minimum:g}")
    if option.maximum is not None:
        parts.append(f"at most {option.maximum:g}")
    if option.secret:
        parts.append("secret")
    return f" ({'; '.join(parts)})" if parts else ""


def commands() -> Iterator[str]:
    import click

    from watchbook.project.cli import DJANGO_LISTED, HOUSE, program

    yield "# Commands"
    yield ""
    yield "`--json` prints one JSON document; exit code 0 is success, 1 failure, 2 wrong usage. Django's own commands"
    yield f"({', '.join(f'`{name}`' for name in DJANGO_LISTED)}, …) work too."
    context = click.Context(program)
    for name in program.list_commands(context):
        if name in DJANGO_LISTED:
            continue
        command = program.get_command(context, name)
        assert command is not None, (name, HOUSE)
        yield from _command(command, f"watchbook {name}")


def _command(command: Any, name: str) -> Iterator[str]:
    import click

    if isinstance(command, click.Group):
        for sub in sorted(command.commands):
            yield from _command(command.commands[sub], f"{name} {sub}")
        return
    arguments = [p.human_readable_name for p in command.params if isinstance(p, click.Argument)]
    yield f"\n## `{' '.join([name, *arguments])}`\n"
    yield (command.help or "").strip().replace("\n\n", "\n")
    given = [p for p in command.params if isinstance(p, click.Option)]
    if given:
        yield ""
        for option in given:
            yield f"- `{', '.join(option.opts)}`: {option.help or ''}".rstrip(": ")


def jobs() -> Iterator[str]:
    from watchbook.core import registry

    yield "# Jobs"
    yield ""
    yield "`watchbook jobs run NAME` starts one by hand where that makes sense, by any of its names; the longer ones"
    yield "are those of its Celery tasks. Schedules are Asia/Shanghai."
    yield ""
    yield "| job | what it does | queue | schedule | lease | attempts |"
    yield "|---|---|---|---|---|---|"
    for job in registry.jobs().values():
        schedule = str(job.schedule) if job.schedule else "on demand"
        names = "".join(f", `{name}`" for name in job.celery_names)
        yield (
            f"| `{job.name}`{names} | {job.title} | `{job.queue}` | {schedule} | {job.lease_seconds} s |"
            f" {job.max_attempts} |"
        )


def endpoints() -> Iterator[str]:
    yield "# API"
    yield ""
    yield "`Authorization: Bearer TOKEN`, JSON. The same with schemas: `/api/docs` of a running Watchbook."
    yield ""
    yield "| endpoint | what it does |"
    yield "|---|---|"
    for name, words in operations():
        yield f"| `{name}` | {words.partition(LINE_END)[0]} |"


def operations() -> Iterator[tuple[str, str]]:
    """Every endpoint with its docstring."""
    from tests.api_document import openapi_document

    schema = openapi_document()
    for path, methods in sorted(schema["paths"].items()):
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation.get("description") or ""


def tables() -> Iterator[str]:
    """Every table of the systems with its columns: what is kept of each item."""
    from django.apps import apps

    yield "# Tables"
    yield ""
    yield "What Watchbook keeps, by system: for reports with SQL, and to see which fields of a source are kept. Columns"
    yield "can be added by an upgrade; none is renamed without a line in the changelog."
    for app in sorted(apps.get_app_configs(), key=lambda one: one.label):
        if not app.name.startswith("watchbook.systems."):
            continue
        yield f"\n## {app.label}"
        for model in app.get_models(include_auto_created=True):
            yield from _table(model)


def _table(model: Any) -> Iterator[str]:
    doc = (model.__doc__ or "").strip().partition("\n")[0]
    yield f"\n### `{model._meta.db_table}`\n"
    if doc and not doc.startswith(f"{model.__name__}("):
        yield f"{doc}\n"
    yield "| column | type | what it holds |"
    yield "|---|---|---|"
    for field in model._meta.concrete_fields:
        kind = field.get_internal_type().removesuffix("Field")
        target = f" of `{field.related_model._meta.db_table}`" if field.related_model else ""
        words = str(field.db_comment or field.help_text or "").replace("|", "\\|").replace(LINE_END, " ")
        yield f"| `{field.column}` | {kind}{target} | {words} |"


def prepare() -> None:
    """Django with nobody's settings but ours."""
    import tempfile

    if not os.environ.get("DJANGO_SETTINGS_MODULE"):
        os.environ.setdefault("WATCHBOOK_HOME", tempfile.mkdtemp(prefix="watchbook-docs-"))
        os.environ["DJANGO_SETTINGS_MODULE"] = "watchbook.project.settings"
    import django

    django.setup()


def main() -> None:
    prepare()
    from django.utils import translation

    REFERENCE.mkdir(parents=True, exist_ok=True)
    with translation.override("en"):
        for name, text in pages().items():
            (REFERENCE / name).write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")
    migrations.add_new()


if __name__ == "__main__":
    assert find_spec("watchbook")
    main()
