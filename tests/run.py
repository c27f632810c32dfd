"""`make test`: the whole suite, once per database, and one line about what was used and what was not."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from watchbook.base.testing import servers

TESTS_FAILED = 1  # pytest's own exit code for it


def main(kinds: list[str]) -> int:
    if "mariadb" in kinds and not servers.has_mariadb():
        print("MariaDB does not answer here: the suite does not run on it.")
        kinds = [kind for kind in kinds if kind != "mariadb"]
    failed = []
    for kind in kinds:
        print(f"== {kind}: {servers.describe(kind)}", flush=True)
        began = time.monotonic()
        code = suite(kind, again=kind != kinds[0])
        print(f"== {kind}: {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
        failed += [kind] if code else []
    say_what_was_used(kinds)
    return 1 if failed else 0


def suite(kind: str, *, again: bool) -> int:
    """The suite on one database; what touches none, and what a browser shows, is the same on the next one."""
    env = {
        **os.environ,
        "WATCHBOOK_TEST_DATABASE": kind,
        "WATCHBOOK_TEST_ONLY_DATABASE": "on" if again else os.environ.get("WATCHBOOK_TEST_ONLY_DATABASE", "off"),
    }
    command = [sys.executable, "-m", "pytest", "-q", *(["-m", "not browser"] if again else [])]
    code = subprocess.call([*command, "-n", "2", "--dist", "loadgroup"], env=env)
    if code != TESTS_FAILED:
        return code
    # Tests with real processes and deadlines may lose a race for two cores. What failed beside others is run again
    # alone, once; it is named, so that nobody takes it for quiet.
    print(f"== {kind}: some tests failed. Each of them again, alone:", flush=True)
    code = subprocess.call([*command, "--last-failed", "--last-failed-no-failures", "none"], env=env)
    if code == 0:
        print(f"== {kind}: UNSTEADY: the tests above failed beside others and passed alone", flush=True)
    return code


def say_what_was_used(kinds: list[str]) -> None:
    redis = "the machine's own" if servers.answers("127.0.0.1", 6379) else "from a wheel"
    rabbit = "the machine's own" if servers.rabbitmq_url() else "not found, its tests did not run"
    browser = servers.chromium() or "not found, browser tests did not run"
    print(f"databases: {', '.join(kinds)}; Redis: {redis}; RabbitMQ: {rabbit}; browser: {browser}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["sqlite"]))
