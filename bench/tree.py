"""`python -m bench.tree [FOLDER]`: the size of the source tree, for comparing two states of it.

Counts the Python files of the package without tests and migrations: lines, imports, docstrings, median and largest
file, small files; and the longest line of a template.
"""

from __future__ import annotations

import ast
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

SMALL = 40


@dataclass(frozen=True)
class File:
    path: Path
    lines: int
    imports: int
    docstrings: int


def measure(path: Path) -> File:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    imports = sum(_height(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    owners = [n for n in nodes if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    docstrings = sum(_height(node.body[0]) for node in owners if ast.get_docstring(node) is not None)
    return File(path, text.count("\n"), imports, docstrings)


def _height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main(root: Path) -> None:
    package = root / "watchbook"
    paths = [path for path in package.rglob("*.py") if not {"tests", "migrations"} & set(path.parts)]
    files = [measure(path) for path in sorted(paths)]
    lines = sum(file.lines for file in files)
    largest = max(files, key=lambda file: file.lines)
    print(f"files                {len(files)}")
    print(f"  of {SMALL} lines or less  {sum(file.lines <= SMALL for file in files)}")
    print(f"lines                {lines:,}")
    print(f"  imports            {sum(file.imports for file in files) / lines:.1%}")
    print(f"  docstrings         {sum(file.docstrings for file in files) / lines:.1%}")
    print(f"median file          {statistics.median(file.lines for file in files):.0f}")
    print(f"largest file         {largest.lines} {largest.path.relative_to(root)}")
    templates = [path.read_text("utf-8").splitlines() for path in package.rglob("templates/**/*.html")]
    widths = [len(line) for template in templates for line in template]
    print(f"templates            {len(templates)}, {len(widths):,} lines")
    print(f"  longest line       {max(widths)}")
    print(f"  over 120, over 400 {sum(width > 120 for width in widths)}, {sum(width > 400 for width in widths)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
