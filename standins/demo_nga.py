"""The forum's part of the demo: a board with a few days of topics, edits, a deletion, and a gap that is repaired."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

from standins.demo_server import DemoServer
from standins.nga_board import NgaBoard

# Floor numbers with how many former versions are kept, and whether the floor is deleted.
Floors = dict[int, dict[int, tuple[int, bool]]]


class Forum:
    def __init__(self, stack: contextlib.ExitStack, host: str = "127.0.0.1") -> None:
        self.board = stack.enter_context(NgaBoard(host=host))
        self.world = self.board.world
        self.world.set_time(datetime.now(UTC))
        self.board.life.days(3)
        newest = max(self.world.topics)
        for _ in range(6):
            self.board.life.reply(newest)
        # A floor that the board does not show today: the archive has a gap there.
        self.gap = (newest, self.world.topics[newest].floor(3).pid)
        self.world.remove(*self.gap)
        self.board.begin_run()

    @property
    def env(self) -> dict[str, str]:
        return {"NGA_BASE_URL": self.board.url, "NGA_FORUMS": "7"}

    def go_on(self, times: int) -> None:
        """A little life at the time that it really is."""
        self.world.set_time(datetime.now(UTC))
        self.board.life.live(times, longest_minutes=0)

    def live(self) -> None:
        """Users write; one edits and a moderator deletes."""
        self.go_on(4)
        tid = max(self.world.topics, key=lambda one: self.world.topics[one].posted_at)
        edited, deleted = self.board.life.reply(tid), self.board.life.reply(tid)
        self.board.begin_run()
        self._seen = (tid, edited, deleted)

    def change_what_was_seen(self) -> None:
        tid, edited, deleted = self._seen
        self.world.set_time(datetime.now(UTC))
        self.world.edit(tid, edited, "改过了：以这一版为准。")
        self.world.delete(tid, deleted)
        self.world.reply(tid, "最后一楼")
        self.board.begin_run()

    def one_round(self, server: DemoServer) -> tuple[tuple[Any, ...], bool]:
        """Crawl, find the gap, repair it, crawl again: the archive is what the board gave out."""
        server.patiently("nga", "crawl", "--json")
        first = self.stored(server)
        missing = server.command("nga", "audit", "--json")["missing_thread_count"]
        self.world.restore(*self.gap)
        repaired = server.command("nga", "audit", "--repair", "--json")["repaired_thread_count"]
        self.live()
        server.patiently("nga", "crawl", "--json")
        self.change_what_was_seen()
        server.patiently("nga", "crawl", "--json")
        last = self.stored(server)
        is_right = last == self.expected() and (missing, repaired) == (1, 1)
        if not is_right:
            print(f"nga: the archive differs from the board, or the gap was not repaired ({missing}, {repaired})")
        return ("nga", _count(first), _changes(first, last), 0), is_right

    def wrote(self, page: dict[str, Any]) -> bool:
        return any(topic.title in page["title"] for topic in self.world.topics.values())

    def stored(self, server: DemoServer) -> Floors:
        tids = [row["source_thread_id"] for row in server.ask("GET", "/nga/threads?limit=200")["items"]]
        found: Floors = {}
        for tid in tids:
            posts = server.ask("GET", f"/nga/threads/{tid}/posts?limit=200")["items"]
            found[tid] = {
                post["floor_number"]: (post["revision_count"], post["is_deleted_by_source"]) for post in posts
            }
        return found

    def expected(self) -> Floors:
        return {
            tid: {lou: (len(floor.versions), floor.is_deleted) for lou, floor in floors.items()}
            for tid, floors in self.board.expected_archive().items()
        }


def _count(floors: Floors) -> int:
    return sum(map(len, floors.values()))


def _changes(before: Floors, after: Floors) -> str:
    """New floors (the repaired one among them), deleted ones, edited ones."""
    states = {(tid, lou): state for tid, floors in after.items() for lou, state in floors.items()}
    deleted = sum(is_deleted for _, is_deleted in states.values())
    edited = sum(count for count, _ in states.values()) - deleted
    return f"+{_count(after) - _count(before)} −{deleted} ~{edited}"
