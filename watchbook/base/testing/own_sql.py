"""Which tests reach SQL that another database may answer differently: found by reading the source.

A function has such SQL when it says so (raw SQL, a branch by vendor, row locks, refused rows), or when it names a
function that has: one of its own module, or of a module of the same package that its module imports. A test reaches it
when the test or a helper of its file names such a function. What it uses of another package is tested there.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WORDS = {
    "vendor", "cursor()", "objects.raw", "RunSQL", "RawSQL", "select_for_update", "ignore_conflicts",
    "update_conflicts", "IntegrityError", "OperationalError",
}  # fmt: skip
# All of it is SQL by hand: a module that imports from here has some.
WRITTEN_BY_HAND = ("watchbook.base.store.rows",)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """A module: its functions, the names that each of them uses, and what it imports."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.uses: dict[str, set[str]] = {}
        for name, node in _functions(tree):
            self.uses.setdefault(name, set()).update(_names(node))
        self.imports: set[str] = set()
        self.by_hand: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self.imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                if node.module in WRITTEN_BY_HAND:
                    self.by_hand |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                self.imports |= {alias.name for alias in node.names}

    def reaching(self, known: set[str]) -> frozenset[str]:
        """Return the functions that name one of the known ones, directly or through others of this module."""
        wanted = WORDS | self.by_hand | known
        found = {name for name, used in self.uses.items() if used & wanted}
        while more := {name for name, used in self.uses.items() if used & found} - found:
            found |= more
        return frozenset(found)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield functions and methods by name; what a class has outside its methods counts under its own name."""
    for node in tree.body:
        if isinstance(node, _Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                yield inner.name if isinstance(inner, _Function) else node.name, inner


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
            if inner.attr == "raw" and isinstance(inner.value, ast.Attribute) and inner.value.attr == "objects":
                yield "objects.raw"
        elif isinstance(inner, ast.arg):
            yield inner.arg  # fixtures
        elif isinstance(inner, ast.keyword) and inner.arg:
            yield inner.arg
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier():
            yield inner.value  # usefixtures, monkeypatch
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "cursor":
            yield "cursor()"


_found: dict[str, frozenset[str]] = {}


def in_module(module: str) -> frozenset[str]:
    """Return the functions of a module that reach such SQL inside its package."""
    if module not in _found:
        _found[module] = frozenset()  # modules that import this one in a circle
        source = _source(module)
        if source is not None:
            package = ".".join(module.split(".")[:3])
            _found[module] = source.reaching(_reached_by(source, package, module))
    return _found[module]


def in_test_file(path: Path) -> frozenset[str]:
    """Return the names of the tests and helpers in this file that reach such SQL of their package."""
    source = Source(path)
    package = ".".join(path.relative_to(ROOT).parent.parent.parts)
    return source.reaching(_reached_by(source, package, ""))


def _reached_by(source: Source, package: str, module: str) -> set[str]:
    ours = (name for name in source.imports if name.startswith(f"{package}.") and ".tests" not in name)
    return {name for imported in ours if imported != module for name in in_module(imported)}


@cache
def _source(module: str) -> Source | None:
    base = ROOT.joinpath(*module.split("."))
    paths = (base.with_suffix(".py"), base / "__init__.py")
    return next((Source(path) for path in paths if path.is_file()), None)


def in_all_test_files(kept_in: Path, state: str) -> dict[str, frozenset[str]]:
    """Return the reaching tests of every file by its path, kept in a folder for this state of the source.

    Reading everything takes seconds: one process of a run does it, the others read the result.
    """
    kept = kept_in / f"own-sql-{state}.json"
    if not kept.exists():
        for old in kept_in.glob("own-sql-*"):
            old.unlink()
        files = [path for top in ("watchbook", "standins", "tests") for path in (ROOT / top).rglob("test_*.py")]
        found = {str(path.relative_to(ROOT)): sorted(in_test_file(path)) for path in files}
        kept.write_text(json.dumps(found), encoding="utf-8")
    read: dict[str, list[str]] = json.loads(kept.read_text(encoding="utf-8"))
    return {path: frozenset(names) for path, names in read.items()}
