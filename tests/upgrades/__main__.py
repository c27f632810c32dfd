"""`make upgrade-fixture NAME=0.1.0`: keeps a database of each kind as it is now, with rows in every table.

Made once at each release and never again: the suite upgrades these databases to whatever the migrations are by then.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.upgrades import dumps
from watchbook import __version__
from watchbook.core.ops.tests.processes import environment, run

ROWS = 2
COUNT = """
import django, json
django.setup()
from watchbook.core.ops.move.rows import moved_models
print(json.dumps({m._meta.db_table: m._base_manager.count() for m in moved_models()}))
"""


def main(name: str) -> None:
    target = dumps.HERE / name
    if target.exists():
        raise SystemExit(f"{target} exists. A kept database is never replaced; give another NAME.")
    packed = {}
    for kind in dumps.KINDS:
        with tempfile.TemporaryDirectory(prefix="watchbook-upgrade-") as folder:
            home = Path(folder)
            with dumps.empty_database(kind, home) as url:
                packed[kind], rows = fill(kind, url, home)
    target.mkdir()
    for kind, content in packed.items():
        (target / f"{kind}.zst").write_bytes(content)
        print(f"{target.name}/{kind}.zst  {len(content) / 1000:.0f} kB")
    (target / "rows.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def fill(kind: str, url: str, home: Path) -> tuple[bytes, dict[str, int]]:
    done = run(home, "migrate", "--verbosity", "0", DATABASE_URL=url)
    if done.returncode:
        raise SystemExit(done.stderr)
    python(home, url, "-m", "watchbook.core.ops.tests.every_table", str(ROWS))
    rows = json.loads(python(home, url, "-c", COUNT))
    return dumps.dump(kind, url, home), rows


def python(home: Path, url: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments], env=environment(home, DATABASE_URL=url), check=True, text=True, stdout=-1
    ).stdout


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else __version__)
