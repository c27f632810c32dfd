"""`make release`: check version and changelog, build sdist and wheel, try the wheel in empty environments.

It changes nothing in the tree and uploads nothing: it leaves the files in dist/ and prints what comes next.
`--allow-unreleased` skips the question whether the changelog names a date, for a trial.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from scripts.ways_in import HEADING, NotReady, measure_all, run

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = ROOT / ".venv-docs" / "bin"


def version() -> str:
    """Return the version; pyproject.toml and the package must agree."""
    declared: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "watchbook/__init__.py").read_text())
    if not found or found[1] != declared:
        raise NotReady(f"pyproject.toml says {declared}, watchbook/__init__.py says {found and found[1]}.")
    return declared


def check_changelog(number: str) -> None:
    heading = re.search(rf"^## {re.escape(number)} \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not heading:
        raise NotReady(f"CHANGELOG.md has no heading for {number}.")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[1]):
        raise NotReady(f"CHANGELOG.md says “{heading[1]}” for {number}; write the date of the release.")


def check_tree() -> None:
    changed = run("git", "status", "--porcelain").strip()
    if changed:
        raise NotReady(f"The tree has changes that are not committed:\n{changed}")


def build() -> list[Path]:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "watchbook.core.ops.first_database")
    run(str(TOOLS / "pyproject-build"), "--outdir", str(DIST), str(ROOT))
    files = sorted(DIST.iterdir())
    run(str(TOOLS / "twine"), "check", "--strict", *map(str, files))
    return files


def contents(path: Path) -> set[str]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return set(wheel.namelist())
    with tarfile.open(path) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def check_contents(files: list[Path]) -> None:
    for path in files:
        names = contents(path)
        wanted = {
            "watchbook/project/cli.py",
            "watchbook/kit/static/kit/app.js",
            "watchbook/kit/templates/kit/base.html",
            "watchbook/core/ops/data/first.sqlite3.zst",
            *(("watchbook/manual/docs/start.md", "watchbook/manual/CHANGELOG.md") if path.suffix == ".whl" else ()),
            *(("docs/start.md", "CHANGELOG.md") if path.suffix != ".whl" else ()),
        }
        missing = wanted - names
        tests = [name for name in names if path.suffix == ".whl" and "/tests/" in name and name.endswith(".py")]
        if missing or tests:
            raise NotReady(f"{path.name}: missing {sorted(missing)}, should not contain {tests[:3]}.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allow-unreleased", action="store_true")
    given = parser.parse_args()
    try:
        number = version()
        if not given.allow_unreleased:
            check_changelog(number)
            check_tree()
        files = build()
        check_contents(files)
        wheel = next(path for path in files if path.suffix == ".whl")
        print(HEADING)
        for each in measure_all(wheel):
            print(each.line())
    except NotReady as why:
        print(why, file=sys.stderr)
        return 1
    for path in files:
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.2f} MB")
    print(f"Next: git tag v{number}, then upload the files in dist/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
