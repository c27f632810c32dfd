"""`make test-hosts`: ten minutes of all stand-ins on hosts of their own, with Redis and then with RabbitMQ.

Every 20 seconds a worker is killed; once a link is cut and healed, and once a host loses its disk. At the end the
ledgers of the stand-ins must agree with what is stored and sent. A backup that was taken on the way is restored on an
empty host with another kind of database, continues there, and must agree as well. Needs root, iproute2, PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from standins.fault_proxy import FaultProxy
from tests.crash import servers
from tests.hosts import network
from tests.hosts.desk import Desk, shared_settings
from tests.hosts.life import Life
from tests.hosts.network import Network
from watchbook.base.testing import servers as shared

TURN_SECONDS = 20.0
CUT_SECONDS = 30.0
# What has not changed for that long is stuck.
SETTLE_SECONDS = 240.0


def say(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", flush=True)


class Run:
    """One broker, from the first process to the restored backup."""

    def __init__(self, broker: str, minutes: float, folder: Path, stack: ExitStack) -> None:
        self.minutes, self.folder = minutes, folder
        self.chance = random.Random(20)
        self.net = stack.enter_context(Network(folder))
        postgres = servers.Postgres(folder, self.net.address)
        postgres.start()
        stack.callback(postgres.stop, mode="immediate")
        self.life = Life(stack, self.net.address)
        self.settings = {
            **shared_settings(),
            **self.life.settings,
            "DATABASE_URL": postgres.create("hosts").partition("?")[0],
            **self._broker(broker, stack),
        }
        self.desk = Desk(self.net, self.settings)
        self.kills = 0
        self.problems: list[str] = []

    def _broker(self, name: str, stack: ExitStack) -> dict[str, str]:
        if name == "redis":
            redis = servers.Redis(self.folder, self.net.address)
            redis.start()
            stack.callback(redis.stop)
            return {"CELERY_BROKER_URL": redis.url, "REDIS_URL": redis.url}
        rabbit = servers.RabbitMQ()
        rabbit.start()
        stack.callback(rabbit.stop)
        # It lets its guest in from this machine only.
        proxy = stack.enter_context(FaultProxy("127.0.0.1:5672", host=self.net.address))
        return {"CELERY_BROKER_URL": rabbit.url.replace("127.0.0.1:5672", proxy.netloc)}

    def begin(self) -> None:
        self.desk.prepare()
        self.life.communities.read_this_morning(self.desk)
        self.desk.start()
        self.life.set_up(self.desk)
        say("set up: " + ", ".join(host.name for host in self.desk.all_hosts()))

    def live(self) -> None:
        """Life, and what happens to machines."""
        workers = self.desk.hosts["worker"]
        turns = max(6, int(self.minutes * 60 / TURN_SECONDS))
        happens = {turns // 4: self._cut, turns // 2: self._lose_disk, turns * 3 // 4: self._back_up}
        for turn in range(1, turns + 1):
            began = time.monotonic()
            self.life.go_on(self.desk)
            if turn in happens:
                happens[turn]()
            victim = self.chance.choice(workers)
            time.sleep(self.chance.uniform(0, TURN_SECONDS / 4))
            victim.kill()
            self.kills += 1
            victim.again()
            time.sleep(max(0.0, TURN_SECONDS - (time.monotonic() - began)))
            ended = [host.name for host in self.desk.all_hosts() if not host.is_running]
            self.problems += [f"{name} ended by itself" for name in ended]
            for host in (host for host in self.desk.all_hosts() if not host.is_running):
                host.again()
        say(f"{turns} turns, {self.kills} workers killed")

    def _cut(self) -> None:
        """The first worker and a scheduler cannot be reached for a while; then they can."""
        hosts = [self.desk.hosts["worker"][0], self.desk.hosts["beat"][0]]
        for host in hosts:
            host.cut()
        say(f"link cut: {', '.join(host.name for host in hosts)}")

        def heal() -> None:
            for host in hosts:
                host.heal()
            say("link healed")

        threading.Timer(CUT_SECONDS, heal).start()

    def _lose_disk(self) -> None:
        host = self.desk.hosts["worker"][1]
        host.lose_disk()
        say(f"disk lost: {host.name}")

    def _back_up(self) -> None:
        self.backup = self.folder / "backup.tar"
        host = self.desk.hosts["web"][-1]

        def take() -> None:
            done = host.run("backup", str(self.backup), **self.desk.settings)
            if done.returncode:
                self.problems.append(f"backup: {done.stderr[-500:]}")
            say(f"backup on {host.name}: {' '.join(done.stdout.split())[:200]}")

        self.taking = threading.Thread(target=take)
        self.taking.start()

    def settle(self, ledgers: Any) -> None:
        """Nothing is killed any more. Ask until nothing is left to do."""
        before: list[str] = []
        ends = time.monotonic() + SETTLE_SECONDS
        while left := ledgers.lagging():
            if left != before:
                before, ends = left, time.monotonic() + SETTLE_SECONDS
            if time.monotonic() > ends:
                self.problems += [f"stuck: {entry}" for entry in left]
                return
            self.life.look(self.desk, at_all=True)
            ledgers.read_again()
            time.sleep(3)

    def compare(self, what: str, *, only_state: bool = False) -> set[str]:
        """Return the ids of everything that was received."""
        from tests.hosts.ledgers import Ledgers  # after Django is set up

        ledgers = Ledgers(self.life, self.desk)
        self.settle(ledgers)
        findings = ledgers.check(with_notices=not only_state)
        self.problems += [f"{what}: {sentence}" for sentence in findings.sentences()]
        say(f"{what}: " + ", ".join(f"{count:,} {name}" for name, count in ledgers.counts.items()))
        say(f"{what}: failed checks by reason: {ledgers.failures()}, failed runs: {ledgers.failed_runs()}")
        return ledgers.received

    def restore(self, kind: str, received: set[str]) -> None:
        """On an empty host with another kind of database; the processes of before are stopped."""
        from tests.hosts import ledgers  # after Django is set up

        self.taking.join()
        self.desk.stop()
        with ExitStack() as stack:
            url = self._other_database(kind, stack)
            own = {
                name: value for name, value in self.settings.items() if name not in ("CELERY_BROKER_URL", "REDIS_URL")
            }
            # This process reads lists, too, and has a folder of its own.
            own |= {"DATABASE_URL": url, "WATCHBOOK_BLOBS": "database"}
            elsewhere = Desk(self.net, own, {"up": 1})
            began = time.monotonic()
            done = elsewhere.front.run("restore", str(self.backup), **elsewhere.settings)
            if done.returncode:
                self.problems.append(f"restore: {done.stderr[-500:]}")
                return
            spent = time.monotonic() - began
            say(f"restored into {kind} in {spent:.0f} s: {done.stdout.splitlines()[0]}")
            # Without a shared cache and broker the data folder of the front is this process's own.
            file = f"sqlite:///{elsewhere.front.folder}/watchbook.sqlite3" if kind == "sqlite" else url
            ledgers.use_database(file)
            self.problems += ledgers.Ledgers(self.life, elsewhere).sent_before(received)
            before, self.desk, elsewhere.token = self.desk, elsewhere, self.desk.token
            elsewhere.start({"up": ("up",)})
            self.compare(f"restored into {kind}", only_state=True)
            elsewhere.stop()
            self.desk = before

    def _other_database(self, kind: str, stack: ExitStack) -> str:
        if kind == "sqlite":
            return ""
        name = f"watchbook_hosts_{os.getpid()}"
        here = shared.beside(shared.mariadb_url(), name)
        shared.drop(here)
        shared.create(here)
        stack.callback(shared.drop, here)
        proxy = stack.enter_context(FaultProxy("127.0.0.1:3306", host=self.net.address))
        return here.replace("127.0.0.1:3306", proxy.netloc).replace("localhost:3306", proxy.netloc)


def play(broker: str, minutes: float, restore_into: str) -> int:
    folder = Path(tempfile.mkdtemp(prefix=f"watchbook-hosts-{broker}-"))
    began = time.monotonic()
    with ExitStack() as stack:
        run = Run(broker, minutes, folder, stack)
        home = folder / "driver"
        home.mkdir()
        os.environ |= {**run.settings, "WATCHBOOK_HOME": str(home), "WATCHBOOK_BIND": "127.0.0.1:0"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "watchbook.project.settings"
        import django

        django.setup()
        run.begin()
        run.live()
        received = run.compare(f"PostgreSQL, {broker}")
        run.restore(restore_into, received)
    for problem in run.problems[:40]:
        print(problem)
    verdict = "clean" if not run.problems else f"NOT CLEAN: {len(run.problems)}, logs in {folder}"
    say(f"PostgreSQL, {broker}: {verdict}, {run.kills} kills, {time.monotonic() - began:.0f} s")
    if not run.problems:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if run.problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hosts", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--broker", choices=["redis", "rabbitmq"], help="only this one")
    parser.add_argument("--restore-into", choices=["mariadb", "sqlite"], default="mariadb")
    chosen = parser.parse_args()
    # Hosts and servers end with us, however we are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if reason := network.missing():
        print(f"Not tried: {reason}.")
        return 1
    if chosen.broker:
        return play(chosen.broker, chosen.minutes, chosen.restore_into)
    # Each in a process of its own, because Django has one database for each.
    words = ["--minutes", str(chosen.minutes), "--restore-into", chosen.restore_into]
    codes = [
        subprocess.call([sys.executable, "-m", "tests.hosts", "--broker", broker, *words])
        for broker in ("redis", "rabbitmq")
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
