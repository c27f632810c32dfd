"""What list, topic and search pages cost while the archive grows: time and queries, near and deep."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

START = datetime(2020, 1, 1, tzinfo=UTC)
FLOORS, LONG_FLOORS, BATCH = 3, 6_000, 2_000
DEEP_BAR, GROWTH_BAR, MOST_QUERIES = 1.5, 2.0, 12
PAIRS = (
    ("list", "list, last page"), ("list by reply", "list by reply, last page"), ("topic", "topic, last page"),
)  # fmt: skip
WORD = "魔兽"


class Archive:
    """Topics that the same seed makes the same way; the first of them is a long one."""

    def __init__(self) -> None:
        from watchbook.core.accounts.models import User
        from watchbook.systems.nga.models import Forum

        self.random = random.Random(7)
        self.size = 0
        self.forum, _ = Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": ""})
        self.user = User.objects.create_user(email="alice@example.com", password="correct horse battery")
        self.characters = [chr(number) for number in range(0x4E00, 0x4E00 + 2000)]

    def grow(self, size: int) -> None:
        numbers = iter(range(self.size, size))
        while batch := list(islice(numbers, BATCH)):
            self._add(batch)
        self.size = size
        self._analyse()

    def _add(self, numbers: list[int]) -> None:
        from django.db import transaction

        from watchbook.core.search import index
        from watchbook.systems.nga.models import Thread
        from watchbook.systems.nga.store.publish import _document
        from watchbook.systems.nga.store.versions import NEW_FLOOR

        with transaction.atomic():
            threads = Thread.objects.bulk_create([self._thread(number) for number in numbers])
            NEW_FLOOR.insert(
                [post for number, thread in zip(numbers, threads, strict=True) for post in self._floors(number, thread)]
            )
            index.put(_document(thread, self._words(60), 7) for thread in threads)

    def _thread(self, number: int) -> Any:
        from watchbook.systems.nga.models import Thread

        at = START + timedelta(minutes=number)
        # One in five hundred is about the word that is searched for.
        title = f"[讨论]{WORD if number % 500 == 3 else ''}{self._words(18)}"
        return Thread(
            forum_id=self.forum.pk, source_thread_id=10_000_000 + number, title=title, title_prefix_text="讨论",
            author_name=f"作者{number % 997}", author_source_user_id=number % 997 + 1, thread_created_at=at,
            last_reply_at=at + timedelta(minutes=self.random.randint(1, 4000)), reply_count_display=FLOORS - 1,
            crawl_cursor_max_floor_number=FLOORS - 1, created_at=at, updated_at=at, last_crawled_at=at,
        )  # fmt: skip

    def _floors(self, number: int, thread: Any) -> Iterator[Any]:
        from watchbook.systems.nga.store.versions import NewFloor

        count = LONG_FLOORS if number == 0 else FLOORS
        if number == 0:
            thread.crawl_cursor_max_floor_number = thread.reply_count_display = count - 1
            thread.save()
        for floor in range(count):
            yield NewFloor(
                thread_id=thread.pk, source_post_id=floor and 100_000_000 + number * 10 + floor, floor_number=floor,
                author_name="甲", author_source_user_id=5, post_created_at=thread.thread_created_at,
                content_html=f"<p>{self._words(80)}</p>", content_fingerprint_sha256="0" * 64,
                is_deleted_by_source=False, is_folded_by_source=False, content_last_changed_at=None,
                created_at=thread.thread_created_at, updated_at=thread.thread_created_at,
            )  # fmt: skip

    def _words(self, length: int) -> str:
        return "".join(self.random.choices(self.characters, k=length))

    def _analyse(self) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")

    def addresses(self) -> dict[str, str]:
        from watchbook.kit.paging import write_cursor
        from watchbook.systems.nga.filters import cursor_of
        from watchbook.systems.nga.models import Thread
        from watchbook.systems.nga.views.topics import PER_PAGE

        def last(column: str) -> Any:
            """Where the last page begins, which is as full as the first."""
            return Thread.objects.filter(forum=self.forum).order_by(column, "pk")[PER_PAGE]

        middle = 10_000_000 + self.size // 2
        return {
            "list": "/nga/",
            "list, last page": f"/nga/?older={write_cursor(last('thread_created_at'), 'thread_created_at')}",
            "list by reply": "/nga/?order=last_reply",
            "list by reply, last page": f"/nga/?order=last_reply&older={cursor_of(last('last_reply_at'))}",
            "topic": "/nga/topics/10000000/",
            "topic, last page": f"/nga/topics/10000000/?page={LONG_FLOORS // 20}",
            "a topic of three floors": f"/nga/topics/{middle}/",
            "search": f"/nga/search/?q={WORD}",
        }


def measure(sizes: list[int], rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    from django.test import Client

    archive = Archive()
    client = Client()
    client.force_login(archive.user)
    figures: dict[str, dict[str, Any]] = {}
    for size in sizes:
        began = time.monotonic()
        archive.grow(size)
        say(f"{size:,} topics after {time.monotonic() - began:.0f} s")
        found = _costs(client, archive.addresses(), rounds)
        for name, cost in found.items():
            say(f"  {name:26} {cost['ms']:8.2f} ms  {cost['queries']:2} queries")
        figures[str(size)] = found
    return {"sizes": figures, "missed": _judge(figures)}


def _costs(client: Any, addresses: dict[str, str], rounds: int) -> dict[str, dict[str, Any]]:
    """Processor time of this process and of the database's own for it: others use the machine too. Pages alternate."""
    from bench._nga_store import Clock

    found = {name: {"ms": 0.0, "queries": _queries(client, address)} for name, address in addresses.items()}
    # Rows that the bench made are no part of the program, and one collection of them takes longer than a page.
    gc.collect()
    gc.freeze()
    clock = Clock()
    for _ in range(rounds):
        for name, address in addresses.items():
            with clock.on(name):
                client.get(address)
    for name, cost in found.items():
        cost["ms"] = clock.cpu[name] * 1000 / rounds
    return found


def _queries(client: Any, address: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.get(address)
    with CaptureQueriesContext(connection) as caught:
        answer = client.get(address)
    if answer.status_code != 200:
        raise SystemExit(f"{address} answered {answer.status_code}")
    return len(caught)


def _judge(figures: dict[str, dict[str, Any]]) -> list[str]:
    missed = []
    for size, found in figures.items():
        for near, deep in PAIRS:
            ratio = found[deep]["ms"] / found[near]["ms"]
            if ratio > DEEP_BAR:
                missed.append(f"at {int(size):,} {deep} is {ratio:.1f} times {near}")
        missed += [
            f"at {int(size):,} {name} needs {cost['queries']} queries"
            for name, cost in found.items()
            if cost["queries"] > MOST_QUERIES and name != "search"
        ]
    first, *_, last = [*figures.values(), *figures.values()]
    for name, cost in last.items():
        growth = cost["ms"] / first[name]["ms"]
        if growth > GROWTH_BAR:
            missed.append(f"{name} costs {growth:.1f} times what it costs at the smallest size")
    return missed
