"""`watchbook new-source` writes a system that runs: its own contract tests pass in a copy of the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watchbook.base.testing import migrated

ROOT = Path(__file__).resolve().parents[2]
# The one with everything runs every day.
FLAGS = [
    pytest.param((), id="plain", marks=pytest.mark.nightly),
    pytest.param(("--personal", "--versions"), id="personal with versions"),
]


def run(folder: Path, *command: str) -> str:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "PYTEST_"))}
    env = {
        **outside,
        "PYTHONPATH": str(folder),
        "WATCHBOOK_HOME": str(folder / "home"),
        "DATABASE_URL": "",
        migrated.BEGUN: str(migrated.migrated_file()),
    }
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def not_needed(folder: str, names: list[str]) -> set[str]:
    """Tests of other packages. Bytecode is copied: it stays valid, and to compile the tree again takes long."""
    return set(() if "new_source" in folder else ("tests",)) & set(names)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the source tree without the tests of other packages."""
    for name in ("watchbook", "standins"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=not_needed)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS)
def test_new_system_passes_its_contract_tests(tree: Path, flags: tuple[str, ...]) -> None:
    assert "make check SOURCE=tides" in run(tree, "watchbook", "new-source", "tides", *flags)
    run(tree, "ruff", "check", "watchbook/systems/tides")
    run(tree, "ruff", "format", "--check", "watchbook/systems/tides")
    run(tree, "djlint", "watchbook/systems/tides", "--check", "--lint", "--quiet")
    assert "no issues" in run(tree, "watchbook", "check")
    run(tree, "watchbook", "makemigrations", "tides", "--verbosity", "0")
    assert " passed" in run(tree, "pytest", "-q", "-p", "no:cacheprovider", "watchbook/systems/tides")


@pytest.mark.parametrize(("name", "words"), [("Tides", "lower-case"), ("x", "2 to 31"), ("nga", "exists")])
def test_wrong_name_is_refused(name: str, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "watchbook", "new-source", name], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, words in done.stderr) == (1, True), done.stderr
