"""Reads stored pages with changedetection.io's own steps and prints what that cost. Runs in the peer's environment.

PEER/bin/python bench/_pages_peer.py FOLDER ROUNDS
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    from changedetectionio import html_tools  # type: ignore[import-not-found]

    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    paths = sorted(folder.iterdir())
    html_tools.html_to_text(paths[0].read_text("utf-8"))
    began, characters = time.process_time(), 0
    for _round in range(rounds):
        for path in paths:
            page = html_tools.workarounds_for_obfuscations(path.read_text("utf-8"))
            html_tools.has_ldjson_product_info(page)
            html_tools.extract_title(page)
            text = html_tools.html_to_text(page)
            hashlib.md5(text.encode("utf-8")).hexdigest()
            characters += len(text)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report = {"seconds": time.process_time() - began, "peak_mb": peak, "characters": characters}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()
