"""Digests of our migrations: a migration that others have applied never changes. `make docs` adds new ones.

Each app has its own `migrations/digests.txt`, one line for each file, so that two branches that add migrations merge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HELP = (
    "Add a new migration instead, and run `make docs`. Only if the changed file was never merged or installed anywhere:"
    " remove its line from digests.txt, then run `make docs`."
)


def folders() -> Iterator[Path]:
    for folder in sorted((ROOT / "watchbook").rglob("migrations")):
        if "templates" not in folder.parts and any(folder.glob("0*.py")):
            yield folder


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def frozen(folder: Path) -> dict[str, str]:
    """File name -> digest, as they were written down."""
    listed = folder / "digests.txt"
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    return {name: value for value, name in (line.split() for line in lines)}


def add_new() -> None:
    """Write down the migrations that are not listed yet. What is listed stays as it is."""
    for folder in folders():
        known = frozen(folder)
        all_of_them = {path.name: known.get(path.name) or digest(path) for path in folder.glob("0*.py")} | known
        text = "".join(f"{value}  {name}\n" for name, value in sorted(all_of_them.items()))
        (folder / "digests.txt").write_text(text, encoding="utf-8")


def faults(folder: Path) -> Iterator[str]:
    known = frozen(folder)
    present = {path.name: path for path in folder.glob("0*.py")}
    for name in sorted(known.keys() | present.keys()):
        where = folder / name
        if name not in present:
            yield f"{where} is gone. {HELP}"
        elif name not in known:
            yield f"{where} is new and not listed. Run `make docs`."
        elif known[name] != digest(present[name]):
            yield f"{where} was changed. {HELP}"
