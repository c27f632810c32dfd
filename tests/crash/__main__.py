"""`make crash`: kill everything at every point, on every engine that this machine has; prints a ledger.

Exit code 0 only when every engine that could be tried is clean. The engines run side by side.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time

from tests.crash import package_tests
from tests.crash.engines import ENGINES, Engine
from tests.crash.options import Options, add_options, read_options
from tests.crash.points import all_points, reached_by
from tests.crash.report import Result, table

LONGEST_SECONDS = 1800.0
SAID = 40


class Driver:
    """A engine in a process of its own, because Django has one database for each."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self.engine = engine
        self.result: Result | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.driver", engine.name, *options.words()],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                print(f"[{self.engine.name}] {line.rstrip()}", flush=True)
                continue
            if "result" in message:
                self.result = Result.from_json(message["result"])
            else:
                print(f"[{self.engine.name}] {message['say']}", flush=True)

    def wait(self, seconds: float) -> None:
        try:
            self.process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            self.end()
            print(f"[{self.engine.name}] ended after {LONGEST_SECONDS:.0f} s: it takes too long", flush=True)
        self.reader.join(10)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()


def run(engines: list[Engine], options: Options) -> int:
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    drivers = [Driver(engine, options) for engine in engines]
    try:
        for driver in drivers:
            driver.wait(began + LONGEST_SECONDS - time.monotonic())
    finally:
        for driver in drivers:
            driver.end()
    results = [driver.result for driver in drivers if driver.result is not None]
    print()
    for line in table(results):
        print(line)
    for result in results:
        sentences = [*(f"never reached: {point}" for point in result.missed), *result.findings.sentences()]
        for sentence in sentences[:SAID]:
            print(f"{result.engine}: {sentence}")
        if len(sentences) > SAID:
            print(f"{result.engine}: and {len(sentences) - SAID} more")
    unfinished = [driver.engine.title for driver in drivers if driver.result is None]
    for title in unfinished:
        print(f"{title}: did not finish")
    is_clean = not unfinished and all(result.is_clean for result in results)
    print(f"{'clean' if is_clean else 'NOT CLEAN'} in {time.monotonic() - began:.0f} s")
    return 0 if is_clean else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    add_options(parser)
    parser.add_argument("--only", choices=ENGINES, action="append", help="this engine; may be given more than once")
    chosen = parser.parse_args()
    options = read_options(chosen)
    names = ["embedded"] if options.is_quick else chosen.only or list(ENGINES)
    strangers = [point for point in all_points() if reached_by(point) is None]
    for point in strangers:
        print(f"No scene is known to reach {point}.")
    present = []
    for name in names:
        reason = ENGINES[name].missing()
        if reason:
            print(f"{ENGINES[name].title}: not tried, because {reason}.")
        else:
            present.append(ENGINES[name])
    code = run(present, options) or int(bool(strangers))
    # Chosen engines, scenes and the short form are for looking at the harness's own world.
    only_part = options.is_quick or options.scenes or chosen.only
    return code if only_part else package_tests.play() or code


if __name__ == "__main__":
    sys.exit(main())
