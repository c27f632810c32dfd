"""A parent process to be killed: it starts a child, says its number, and stays."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from watchbook.base import sandbox

TASKS = "watchbook.base.sandbox.tests.tasks:"


def main(manner: str, told: str) -> None:
    pid = sandbox.call(TASKS + "look_around", {})["pid"]
    if manner == "busy":
        # Without CPU time and far from its wall time: only the parent's death can end it.
        argument = {"seconds": 60, "tell": told + ".busy"}
        threading.Thread(target=sandbox.call, args=(TASKS + "sleep", argument), daemon=True).start()
        while not Path(argument["tell"]).exists():
            time.sleep(0.01)
    if manner == "fork" and os.fork() == 0:
        time.sleep(30)
        os._exit(0)
    Path(told).write_text(f"{pid}.")
    time.sleep(30)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
