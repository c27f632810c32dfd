"""`make bench`: every comparison, one process each, figures and ratios on the terminal."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def main(names: list[str]) -> int:
    folder = Path(__file__).parent
    found = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    failed = []
    for name in names or found:
        print(f"\n## {name}", flush=True)
        began = time.monotonic()
        if subprocess.call([sys.executable, "-m", f"bench.{name}"], cwd=folder.parent):
            failed.append(name)
        print(f"({name} took {time.monotonic() - began:.0f} s)", flush=True)
    if failed:
        print(f"\nnot finished or bar missed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
