"""Ten times bigger: 10,000,000 floors, 2,000 monitors and 500 communities on PostgreSQL, generated, not crawled.

    python -m bench.soak                                                    # the whole size; an hour and 30 GB of disk
    python -m bench.soak --floors 20000 --monitors 50 --communities 20 --runs 20000

Rows are copied inside the database from a few that the product stored. Printed before and after: what each list page
costs (processor time of page and database), claims of jobs per second; then how fast retention deletes, VACUUM, and how
long a backup and a restore take. Bars: a list page at most twice its cost before, claims at least half as fast. The
databases are made for the run and dropped afterwards.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOPICS = 200
FLOORS_EACH = 20
MOST_GROWTH, LEAST_CLAIMS = 2.0, 0.5
CLAIMS = 1000
OLD_RUNS = "UPDATE job_runs SET finished_at = finished_at - interval '60 days' WHERE id % 5 = 0"
PAGES = {
    "home": "/", "inbox": "/stream/", "forum": "/nga/", "forum by reply": "/nga/?order=last_reply",
    "monitors": "/sitemaps/", "communities": "/reddit/", "posts": "/reddit/posts/", "runs": "/operations/runs/",
    "API: topics": "/api/v1/nga/threads", "API: activity": "/api/v1/stream",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floors", type=int, default=10_000_000)
    parser.add_argument("--monitors", type=int, default=2_000)
    parser.add_argument("--communities", type=int, default=500)
    parser.add_argument("--runs", type=int, default=1_000_000, help="finished runs of jobs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    from watchbook.base.testing import servers

    url, other = (servers.beside(servers.postgres_url(), f"watchbook_soak_{os.getpid()}_{n}") for n in (1, 2))
    with tempfile.TemporaryDirectory(prefix="watchbook-soak-") as home:
        os.environ |= {
            "WATCHBOOK_HOME": home, "WATCHBOOK_ENV_FILE": f"{home}/none.env", "WATCHBOOK_LOG_LEVEL": "ERROR",
            "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
        }  # fmt: skip
        try:
            servers.create(url)
            servers.create(other)
            return Soak(options, Path(home), other).run()
        finally:
            from django.db import connections

            connections.close_all()
            servers.drop(url)
            servers.drop(other)


class Soak:
    def __init__(self, options: argparse.Namespace, home: Path, other: str) -> None:
        import django

        django.setup()
        self.options, self.home, self.other = options, home, other
        self.missed: list[str] = []

    def run(self) -> int:
        from django.core.management import call_command

        self.timed("migrations", lambda: call_command("migrate", interactive=False, verbosity=0))
        self.seed()
        self.sql("ANALYZE")
        before, claims_before = self.pages(), self.claims()
        self.timed(f"{self.options.floors:,} floors", self.grow)
        self.timed("VACUUM ANALYZE", lambda: self.sql("VACUUM ANALYZE"))
        self.judge(before, self.pages(), claims_before, self.claims())
        self.retention()
        self.safety()
        print(f"size: {self.ask('SELECT pg_size_pretty(pg_database_size(current_database()))')}")
        for missed in self.missed:
            print(f"MISSED: {missed}")
        return 1 if self.missed else 0

    def timed(self, what: str, work: Any) -> float:
        began = time.monotonic()
        work()
        spent = time.monotonic() - began
        print(f"{what}: {spent:.1f} s", flush=True)
        return spent

    def seed(self) -> None:
        """A few topics, one monitor and one community, as the product stores them."""
        from bench._nga_pages import Archive
        from standins.sitemap_site import SitemapSite
        from watchbook.core.accounts.models import User
        from watchbook.core.jobs.models import JobRun
        from watchbook.systems.reddit.models import CommunityPool
        from watchbook.systems.sitemaps import actions

        Archive().grow(TOPICS)
        self.user = User.objects.create_user(
            "soak@example.com", "correct horse battery", is_staff=True, is_verified=True
        )
        with SitemapSite() as site:
            site.add_many([f"/pages/{n}" for n in range(20)], lastmod="2026-10-01")
            os.environ["WATCHBOOK_TRUSTED_HOSTS"] = site.netloc
            actions.add_monitor(self.user, {"name": "Example", "sitemap_url": site.sitemap, "channel_ids": []})
        CommunityPool.objects.create(name="r/example")
        JobRun.objects.update(state="done", finished_at=JobRun.objects.latest("pk").created_at)

    def grow(self) -> None:
        """Each topic with its floors, the monitor, the community and a finished run, again and again."""
        floors = int(self.ask("SELECT count(*) FROM posts WHERE thread_id <> (SELECT min(id) FROM threads)"))
        copies = self.options.floors // floors + 1
        step = int(self.ask("SELECT greatest((SELECT max(id) FROM threads), (SELECT max(id) FROM posts))")) + 1
        shift = f"k::bigint * {step}"
        first = "(SELECT min(id) FROM threads)"
        # No two topics of a board begin at the same moment, as on a real one.
        earlier = "- k * interval '7 seconds'"
        self.copy(
            "threads", copies, f"id <> {first}", id=f"id + {shift}", source_thread_id=f"source_thread_id + {shift}",
            thread_created_at=f"thread_created_at {earlier}", last_reply_at=f"last_reply_at {earlier}",
        )  # fmt: skip
        self.copy("posts", copies, f"thread_id <> {first}", id=f"id + {shift}", thread_id=f"thread_id + {shift}")
        self.copy(
            "monitor_tasks", self.options.monitors - 1, "true", id="gen_random_uuid()", name="name || ' ' || k",
            sitemap_url="sitemap_url || '?' || k", live_url_digest="md5(live_url_digest || k)",
        )  # fmt: skip
        self.copy("community_pool", self.options.communities - 1, "true", id=f"id + {shift}", name="name || k")
        runs = int(self.ask("SELECT count(*) FROM job_runs"))
        self.copy(
            "job_runs", self.options.runs // runs + 1, "true", id=f"id + {shift}", key="key || ':' || k",
            finished_at="finished_at - k * interval '2 seconds'",
        )  # fmt: skip

    def copy(self, table: str, copies: int, where: str, **columns: str) -> None:
        names = [row[0] for row in self.rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = ''", table,
        )]  # fmt: skip
        values = ", ".join(columns.get(name, f'"{name}"') for name in names)
        listed = ", ".join(f'"{name}"' for name in names)
        self.sql(
            f"INSERT INTO {table} ({listed}) SELECT {values} FROM {table}, generate_series(1, {max(copies, 0)}) k"
            f" WHERE {where}"
        )

    def pages(self) -> dict[str, float]:
        """Median of the processor time of page and database, in ms."""
        from django.test import Client

        from bench._nga_store import Clock

        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(self.user)
        found: dict[str, float] = {}
        for name, path in PAGES.items():
            answer = client.get(path)
            if answer.status_code != 200:
                self.missed.append(f"{name}: {path} answered {answer.status_code}")
                continue
            times = []
            for _ in range(self.options.rounds):
                clock = Clock()
                with clock.on(name):
                    client.get(path)
                times.append(clock.cpu[name] * 1000)
            found[name] = statistics.median(times)
        return found

    def claims(self) -> float:
        from watchbook.core.jobs import queue
        from watchbook.core.registry import QUEUES

        mark = time.monotonic()
        queue.enqueue_many([queue.new_run("jobs.clean", key=f"soak:{mark}:{n}") for n in range(CLAIMS)])
        began, taken = time.monotonic(), 0
        while queue.claim_next(QUEUES, "soak"):
            taken += 1
        speed = taken / (time.monotonic() - began)
        print(f"claims: {speed:,.0f}/s by one process, {taken:,} claimed", flush=True)
        self.sql("DELETE FROM job_runs WHERE key LIKE 'soak:%%'")
        return speed

    def judge(self, before: dict[str, float], after: dict[str, float], claims: float, claims_after: float) -> None:
        for name in before:
            growth = after[name] / before[name]
            print(f"  {name:<16} {before[name]:8.1f} ms -> {after[name]:8.1f} ms  {growth:5.2f}x", flush=True)
            if growth > MOST_GROWTH:
                self.missed.append(f"{name} costs {growth:.1f} times as much")
        if claims_after < claims * LEAST_CLAIMS:
            self.missed.append(f"claims fell from {claims:,.0f} to {claims_after:,.0f}/s")

    def retention(self) -> None:
        """A fifth of the finished runs is too old."""
        from watchbook.core.ops.tests.processes import run

        self.sql(OLD_RUNS)
        old = int(self.ask("SELECT count(*) FROM job_runs WHERE finished_at < now() - interval '30 days'"))
        spent = self.timed(
            f"retention of {old:,} runs", lambda: run(self.home, "jobs", "run", "jobs.clean", **self.env())
        )
        left = int(self.ask("SELECT count(*) FROM job_runs WHERE finished_at < now() - interval '30 days'"))
        print(f"  {(old - left) / spent:,.0f} rows/s, {left:,} left", flush=True)
        if left > old // 100:
            self.missed.append(f"retention left {left:,} of {old:,} runs")

    def safety(self) -> None:
        """A backup and its restore, as an operator runs them."""
        import subprocess

        from watchbook.core.ops.tests.processes import environment

        def command(*words: str, **env: str) -> None:
            done = subprocess.run(
                [sys.executable, "-m", "watchbook", *words], env=environment(self.home, **env), capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                self.missed.append(f"{words[0]}: {done.stderr.strip()[-300:]}")

        file = self.home / "soak.tar"
        self.timed("backup", lambda: command("backup", str(file), **self.env()))
        print(f"  {file.stat().st_size / 1e6:,.0f} MB", flush=True)
        self.timed("restore", lambda: command("restore", str(file), DATABASE_URL=self.other))

    def env(self) -> dict[str, str]:
        return {"DATABASE_URL": os.environ["DATABASE_URL"]}

    def sql(self, statement: str) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(statement)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def ask(self, statement: str) -> Any:
        return self.rows(statement)[0][0]


if __name__ == "__main__":
    sys.exit(main())
