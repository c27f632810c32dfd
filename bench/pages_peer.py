"""Pages: reading and comparing 10,000 stored pages, beside changedetection.io's own text steps, in one run.

    BENCH_CHANGEDETECTION=folder BENCH_PAGES=folder python -m bench.pages_peer

BENCH_CHANGEDETECTION is a virtual environment with changedetection.io; BENCH_PAGES a checkout of
article-extraction-benchmark, whose pages are read one after the other until 10,000 are reached. Without it pages of
the stand-in are read, without the environment only ours, and the output says so. Each side is one process that reads
the page, extracts title, prices and text and prepares the comparison; ours also reads the head fields and compares with
the version before. There is no bar: the peer keeps all text of a page, we extract its main text.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.pages import gold_pages
from watchbook.systems.pages.parse.noise import Mask, Masking
from watchbook.systems.pages.parse.text import decode, read_page

PAGES = 10_000
ROOT = Path(__file__).resolve().parent.parent


def ours(folder: Path, rounds: int) -> dict[str, Any]:
    paths = sorted(folder.iterdir())
    read_page(paths[0].read_bytes())
    versions: dict[Path, tuple[dict[str, str], list[str]]] = {}
    began, characters = time.process_time(), 0
    for _round in range(rounds):
        for path in paths:
            found = read_page(path.read_bytes())
            masked = Masking(Mask())
            now = (masked.fields(found["fields"]), masked.lines(found["text"]))
            if versions.get(path) != now:
                versions[path] = now
            characters += len(found["text"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": time.process_time() - began, "peak_mb": peak, "characters": characters}


def _ask(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as made:
        folder = Path(made)
        bodies = [decode(body) for body, _gold in gold_pages()]
        for number, body in enumerate(bodies):
            (folder / f"{number:05}.html").write_text(body, "utf-8")
        rounds = -(-PAGES // len(bodies))
        reports = {"watchbook": _ask([sys.executable, "-m", "bench.pages_peer", str(folder), str(rounds)])}
        if peer := os.environ.get("BENCH_CHANGEDETECTION", ""):
            script = [f"{peer}/bin/python", "bench/_pages_peer.py", str(folder), str(rounds)]
            reports["changedetection.io"] = _ask(script)
        else:
            print("BENCH_CHANGEDETECTION is not set: changedetection.io is not measured")
    print(f"{rounds * len(bodies):,} pages, {len(bodies)} different ones:")
    for name, report in reports.items():
        print(
            f"  {name:20} {report['seconds']:7.1f} CPU s, peak {report['peak_mb']:4.0f} MB, "
            f"{report['characters'] / 1e6:.1f} million characters of text"
        )
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.stdout.write(json.dumps(ours(Path(sys.argv[1]), int(sys.argv[2]))))
        raise SystemExit(0)
    raise SystemExit(main())
