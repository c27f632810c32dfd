"""One engine from its first process to its last: python -m tests.crash.driver ENGINE [options].

Speaks JSON lines on standard output: {"say": sentence} while it works, {"result": figures} at its end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from tests.crash.engines import ENGINES, Backing, Engine, opened
from tests.crash.options import Options, add_options, read_options
from tests.crash.points import points_of
from tests.crash.process_factory import die_with_parent
from tests.crash.report import Result
from tests.crash.world import World
from watchbook.base.testing import migrated

PLACES = 4
# Nothing of the operator's environment reaches the installation under test.
DROPPED = re.compile(r"WATCHBOOK_|CELERY_|DATABASE_URL|REDIS_URL|EMAIL_|SECRET|CRASH_")


def tell(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def environment(home: Path, world: World, backing: Backing) -> dict[str, str]:
    """Short leases, so that a dead process is missed after seconds and not after minutes."""
    return {
        "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
        "WATCHBOOK_HOME": str(home),
        "WATCHBOOK_ENV_FILE": str(home / "none.env"),
        "WATCHBOOK_BIND": "127.0.0.1:0",
        "WATCHBOOK_LOG_LEVEL": "WARNING",
        "WATCHBOOK_LEASE_FACTOR": "0.005",
        "WATCHBOOK_DELIVERY_LEASE_SECONDS": "1",
        "WATCHBOOK_RESEND_SECONDS": "1",
        "WATCHBOOK_SANDBOX_CHILDREN": "1",
        "WATCHBOOK_GRACE_SECONDS": "5",
        "CRASH_TICKS": str(home / "ticks"),
        **world.environment(),
        **backing.environment,
    }


def play(engine: Engine, folder: Path, options: Options) -> Result:
    began = time.monotonic()
    for name in [name for name in os.environ if DROPPED.match(name)]:
        del os.environ[name]
    with ExitStack() as stack:
        backing = opened(engine, folder, stack)
        world = World(stack, PLACES)
        home = folder / "home"
        home.mkdir()
        if options.is_quick:
            migrated.copy_to(home / "watchbook.sqlite3")
        os.environ |= environment(home, world, backing)
        import django

        # Django reads the environment here, so everything that knows its models comes after.
        django.setup()
        from tests.crash import scenario

        points = points_of(is_embedded=engine.is_embedded, commands=not options.is_quick)
        # Chosen scenes are for looking at one thing; only all of them together reach every point.
        result = Result(engine.title, points=[] if options.scenes else points)
        scenario.play(
            engine, backing, world, folder, result,
            stack=stack, options=options, say=lambda sentence: tell(say=sentence),
        )  # fmt: skip
    result.seconds = time.monotonic() - began
    return result


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=ENGINES)
    add_options(parser)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    die_with_parent(signal.SIGTERM)
    folder = Path(tempfile.mkdtemp(prefix=f"watchbook-crash-{chosen.engine}-"))
    result = None
    try:
        result = play(ENGINES[chosen.engine], folder, read_options(chosen))
    finally:
        if result is not None and result.is_clean:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            tell(say=f"the logs of all processes are in {folder}")
    tell(result=result.as_json())
    return 0 if result.is_clean else 1


def _end(number: int, frame: FrameType | None) -> None:
    """So that servers and children end with us."""
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main())
