"""`make outages`: web, worker and scheduler as real processes, and every stand-in down, slow, refusing, failing or
garbling at random. Prints a ledger; exit code 0 only when it is clean.

The clock of the processes runs 360 times faster (`fast_clock`), so that ten minutes hold sixty hours of schedules.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from standins.nga_board import NgaBoard
from standins.note_platform import NotePlatform
from standins.reddit import RedditSite
from standins.sitemap_site import SitemapSite
from standins.smtp_sink import SmtpSink
from standins.webhook_sink import WebhookSink
from tests.crash.driver import DROPPED
from tests.crash.engines import ENGINES, opened
from tests.outages import fast_clock

FACTOR = 360.0
KINDS: tuple[Any, ...] = (SitemapSite, RedditSite, NgaBoard, NotePlatform, SitemapSite, WebhookSink)


def run(engine_name: str, seconds: float, seed: int, folder: Path, only: str = "") -> bool:
    for name in [name for name in os.environ if DROPPED.match(name)]:
        del os.environ[name]
    with ExitStack() as stack:
        engine = ENGINES[engine_name]
        backing = opened(engine, folder, stack)
        sites = [stack.enter_context(kind()) for kind in KINDS]
        mail = stack.enter_context(SmtpSink())
        home = folder / "home"
        home.mkdir()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
            "WATCHBOOK_HOME": str(home),
            "WATCHBOOK_ENV_FILE": str(home / "none.env"),
            "WATCHBOOK_BIND": "127.0.0.1:0",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            "WATCHBOOK_SANDBOX_CHILDREN": "1",
            "CRASH_TICKS": str(home / "ticks"),
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(mail.port),
            **fast_clock.setting(datetime.now(UTC), FACTOR),
            **backing.environment,
        }
        import django

        # Django reads the environment here, so everything that knows its models comes after.
        django.setup()
        fast_clock.follow()
        from tests.outages.desk import Desk

        desk = Desk(engine, sites, folder, stack, seed)
        return desk.live(seconds, only)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.outages")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10_000)
    parser.add_argument("--engine", choices=ENGINES, default="redis")
    parser.add_argument("--only", default="", help="let only this source fail, such as nga")
    chosen = parser.parse_args()
    engine = ENGINES[chosen.engine]
    if engine.missing():
        print(f"{engine.title}: {engine.missing()}")
        return 1
    print(f"{engine.title}, {chosen.seconds:.0f} s, seed {chosen.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="watchbook-outages-"))
    is_clean = False
    try:
        is_clean = run(chosen.engine, chosen.seconds, chosen.seed, folder, chosen.only)
    finally:
        if is_clean:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"the logs of all processes are in {folder}", flush=True)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
