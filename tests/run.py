"""`make test`: the whole suite, once per database, and one line about what was used and what was not."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from watchbook.base.testing import servers


def main(kinds: list[str]) -> int:
    if "mariadb" in kinds and not servers.has_mariadb():
        print("MariaDB does not answer here: the suite does not run on it.")
        kinds = [kind for kind in kinds if kind != "mariadb"]
    failed = []
    for kind in kinds:
        print(f"== {kind}: {servers.describe(kind)}", flush=True)
        began = time.monotonic()
        # What touches no database, and what a browser shows, is the same on the next one.
        again = kind != kinds[0]
        marks = ["-m", "not browser"] if again else []
        code = subprocess.call(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", *marks],
            env={
                **os.environ,
                "WATCHBOOK_TEST_DATABASE": kind,
                "WATCHBOOK_TEST_ONLY_DATABASE": "on" if again else "off",
            },
        )
        print(f"== {kind}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
        failed += [kind] if code else []
    say_what_was_used(kinds)
    return 1 if failed else 0


def say_what_was_used(kinds: list[str]) -> None:
    redis = "the machine's own" if servers.answers("127.0.0.1", 6379) else "from a wheel"
    rabbit = "the machine's own" if servers.rabbitmq_url() else "not found, its tests did not run"
    browser = servers.chromium() or "not found, browser tests did not run"
    print(f"databases: {', '.join(kinds)}; Redis: {redis}; RabbitMQ: {rabbit}; browser: {browser}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["sqlite"]))
