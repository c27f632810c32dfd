"""Walks the source of the product: imports, calls, keyword arguments, each with its file and line."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "watchbook"


class Place(NamedTuple):
    """`what` at a line of a file; `path` is relative to the program."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"watchbook/{self.path}:{self.line}: {self.what}"


@cache
def modules(root: Path = PROGRAM) -> tuple[tuple[str, ast.Module], ...]:
    """Every module that is shipped; tests may do what they like."""
    named = [(str(path.relative_to(root)), path) for path in sorted(root.rglob("*.py"))]
    gc.disable()  # all of it stays: the collector would walk a growing heap again and again, seven times the work
    try:
        return tuple(
            (name, ast.parse(path.read_text(encoding="utf-8"), filename=name))
            for name, path in named
            if "/tests/" not in f"/{name}" and "/migrations/" not in f"/{name}"
        )
    finally:
        gc.enable()


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a module, found once for all tests."""
    return tuple(ast.walk(tree))


def imports(path: str, tree: ast.Module) -> Iterator[Place]:
    """Whole dotted names: `from a import b` is a.b."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Place(path, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (Place(path, node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def names(path: str, tree: ast.Module) -> Iterator[Place]:
    """Every name and attribute that is read: eval, os.system, mark_safe, csrf_exempt."""
    for node in nodes(tree):
        if isinstance(node, ast.Name):
            yield Place(path, node.lineno, node.id)
        elif isinstance(node, ast.Attribute):
            yield Place(path, node.lineno, dotted(node))


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def keywords(path: str, tree: ast.Module) -> Iterator[Place]:
    """`shell=True`, `verify=False`: constants given by name."""
    for node in nodes(tree):
        if isinstance(node, ast.keyword) and node.arg and isinstance(node.value, ast.Constant):
            yield Place(path, node.value.lineno, f"{node.arg}={node.value.value!r}")


def spread(path: str, tree: ast.Module) -> Iterator[tuple[Place, str]]:
    """Calls that spread a mapping into keywords: the method, and the source of the mapping."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for given in node.keywords:
                if given.arg is None:
                    yield Place(path, node.lineno, node.func.attr), ast.unparse(given.value)


def templates(root: Path = PROGRAM) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("templates/**/*")):
        if path.is_file():
            yield str(path.relative_to(root)), path.read_text(encoding="utf-8")
