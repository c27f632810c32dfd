"""`watchbook new-source NAME`: writes a running system into watchbook/systems, to be changed into a real one.

Templates are in templates/new_source. `$name`, `$Title` and the like are replaced; lines between `%% if FLAG`,
`%% else` and `%% end` depend on the options of the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Template

import click

from watchbook.base.terminal import Failure, answer, with_json

PACKAGE = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).parent / "templates" / "new_source"
NAME = re.compile(r"[a-z][a-z0-9_]{1,30}\Z")
# Tests check each system for these; a new one starts with them.
NEXT = (
    "watchbook makemigrations {name}",
    "make messages",
    "make docs",
    "make check SOURCE={name}",
)


@click.command("new-source")
@click.argument("name")
@click.option("--personal", is_flag=True, help="Every user adds addresses and sees only their own.")
@click.option("--versions", is_flag=True, help="Keep earlier values of every item.")
@with_json
def new_source(name: str, personal: bool, versions: bool, as_json: bool) -> None:
    """Create a running system with page, API, command, card, health, tests and Chinese catalogue."""
    folder = PACKAGE / "systems" / name
    if not NAME.match(name):
        raise Failure("A name has 2 to 31 lower-case letters, digits and underscores.", "invalid")
    if not (PACKAGE.parent / "pyproject.toml").exists():
        raise Failure("This command writes into the source tree. Run it in a checkout of Watchbook.", "no_source_tree")
    if folder.exists():
        raise Failure(f"{folder.relative_to(PACKAGE.parent)} exists.", "exists")
    written = write(folder, name, {"personal": personal, "versions": versions})
    steps = [step.format(name=name) for step in NEXT]
    paths = [str(path.relative_to(PACKAGE.parent)) for path in written]
    answer({"files": paths, "next": steps}, [*paths, "", "Next:", *(f"  {step}" for step in steps)], as_json=as_json)


def write(folder: Path, name: str, flags: dict[str, bool]) -> list[Path]:
    """Write every file of the system and return the paths."""
    title = name.replace("_", " ")
    words = {
        "name": name,
        "NAME": name.upper(),
        "title": title,
        "Title": title.capitalize(),
        "Class": title.title().replace(" ", ""),
    }
    written = []
    for source in sorted(TEMPLATES.rglob("*.tmpl")):
        target = folder / str(source.relative_to(TEMPLATES)).removesuffix(".tmpl").replace("NAME", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = chosen(source.read_text("utf-8").splitlines(), flags)
        target.write_text(Template("\n".join(lines)).safe_substitute(words).rstrip("\n") + "\n", "utf-8")
        written.append(target)
    return written


def chosen(lines: list[str], flags: dict[str, bool]) -> Iterator[str]:
    """Yield the lines whose condition holds. Conditions are not nested."""
    is_on = True
    for line in lines:
        if line.startswith("%% if "):
            is_on = flags[line.removeprefix("%% if ").strip()]
        elif line.startswith("%% else"):
            is_on = not is_on
        elif line.startswith("%% end"):
            is_on = True
        elif is_on:
            yield line
