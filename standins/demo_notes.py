"""The notes' part of the demo: a made-up cookie, words that are searched, a creator who is followed, and a note that is
gone when it is opened.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import Any

from standins.demo_server import DemoServer, becomes
from standins.note_platform import NotePlatform
from standins.note_platform.ledger import author_id

FIRST, THEN = "Lantern", "river"
CREATOR = 3
SESSION = "made-up-session-of-the-demo"


class Notes:
    def __init__(self, stack: contextlib.ExitStack, host: str = "127.0.0.1") -> None:
        self.platform = stack.enter_context(NotePlatform(host=host))
        self.cookie = self.platform.add_account(SESSION)
        self.key = secrets.token_urlsafe(32)
        dead = self.platform.add_many(12, f"{FIRST} light")[5]
        # Still among the hits of a search, as it is with notes that were just taken away.
        self.platform.mood(dead.note_id, "gone")

    @property
    def env(self) -> dict[str, str]:
        return {
            "NOTES_ADAPTER": "standin",
            "NOTES_STANDIN_URL": self.platform.url,
            "NOTES_PAGE_URL": self.platform.url,
            "NOTES_SEARCH_EVERY_MINUTES": "1",
            "NOTES_SEARCH_PAGES": "20",
            "COOKIE_MASTER_KEY": self.key,
        }

    def set_up(self, server: DemoServer) -> None:
        words = ("notes", "cookies", "add", "demo_account", "--daily-limit", "50000", "--json")
        server.command(*words, given=self.cookie)
        server.command("notes", "keywords", "add", FIRST, "--json")
        server.command("notes", "creators", "add", author_id(CREATOR), "--label", "Reader of lanterns", "--json")

    def move_on(self) -> None:
        """People write about something else."""
        for number in range(1, 5):
            self.platform.add(f"Evening walk {number}", f"Along the {THEN}.", tags=["walk"])

    def go_on(self, server: DemoServer) -> None:
        self.platform.live(1)
        for job in ("notes.search", "notes.creators", "notes.collect"):
            server.ask("POST", f"/jobs/{job}/run")

    def one_round(self, server: DemoServer) -> tuple[tuple[Any, ...], bool]:
        """Search, collect, search another word, collect: all that the platform gives out is kept, each note once."""
        self.set_up(server)
        is_right = self._collect(server)
        first = len(self.stored(server))
        self.move_on()
        server.command("notes", "keywords", "add", THEN, "--json")
        is_right = self._collect(server) and is_right
        stored, failed = self.stored(server), self.failed(server)
        if not is_right:
            kept = f"of {len(self.expected())} notes that can be read Watchbook has {len(stored)}"
            print(f"notes: {kept}, of {len(self.dead())} that are gone it gave {len(failed)} up")
        return ("notes", first, f"+{len(stored) - first} −{len(failed)} ~0", 0), is_right

    def _collect(self, server: DemoServer) -> bool:
        server.command("notes", "keywords", "search", "--json")
        server.command("notes", "collect", "--json")
        is_kept = becomes(lambda: self.stored(server) == self.expected() and self.failed(server) == self.dead(), 30)
        return bool(is_kept) and self._given_out() == self.expected()

    def stored(self, server: DemoServer) -> dict[str, str]:
        """Titles by note; a note that is there twice shows by their number."""
        rows = server.ask("GET", "/notes/sources?limit=200")["items"]
        titles = {row["note_id"]: row["title"] for row in rows}
        return titles if len(titles) == len(rows) else {}

    def failed(self, server: DemoServer) -> set[str]:
        return {row["note_id"] for row in server.ask("GET", "/notes/candidates?status=failed&limit=200")["items"]}

    def expected(self) -> dict[str, str]:
        return {note.note_id: note.title for note in self.platform.ledger.notes.values() if note.mood == "fine"}

    def dead(self) -> set[str]:
        return {note.note_id for note in self.platform.ledger.notes.values() if note.mood == "gone"}

    def wrote(self, page: dict[str, Any]) -> bool:
        return page["title"] in self.expected().values()

    def _given_out(self) -> dict[str, str]:
        """By the platform's own book of who read what."""
        reads = [read for read in self.platform.ledger.reads if read["what"] == "detail" and read["mood"] == "fine"]
        return {read["name"]: self.platform.ledger.notes[read["name"]].title for read in reads}
