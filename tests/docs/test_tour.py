"""The tour of the code names files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tour.md").read_text("utf-8")
FILES = re.findall(r"`(watchbook/[\w./]+)`", TEXT)
# A file, a colon, and the names of the same sentence.
NAMED = re.findall(r"`(watchbook/[\w./]+\.py)`:((?:(?!`watchbook/|\n\d+\. |\n\n|\. )[\s\S])*)", TEXT)


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_file_of_the_tour_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize(("name", "sentence"), NAMED, ids=[name for name, _ in NAMED])
def test_function_of_the_tour_is_in_its_file(name: str, sentence: str) -> None:
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    wanted = re.match(r"[^`]*`(\w+)`", sentence)
    assert wanted is not None, sentence
    assert wanted[1] in defined


def test_tour_is_read_completely() -> None:
    assert len(set(FILES)) >= 20
    assert len(NAMED) >= 15
