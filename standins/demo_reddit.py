"""Reddit's part of the demo: three communities with comments, read this morning, that have moved on since then."""

from __future__ import annotations

import contextlib
import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

from standins.demo_server import DemoServer, becomes
from standins.reddit import RedditSite
from standins.reddit.life import WORDS

NAMES = ("madeup_lanterns", "madeup_maps", "madeup_orchards")
POSTS_EACH = 12
# Posts are looked up again when they are two hours old: what was read three hours ago is due for that.
READ_BEFORE = timedelta(hours=3)
# By post: how many texts it had, and whether it is gone.
Posts = dict[str, tuple[int, bool]]


class Communities:
    def __init__(self, stack: contextlib.ExitStack, host: str = "127.0.0.1") -> None:
        self.site = stack.enter_context(RedditSite(host=host))
        self.site.rate_budget = 1_000_000
        self.world = self.site.world
        self.read_at = datetime.now(UTC) - READ_BEFORE
        self.collected = 0
        self._chance = random.Random(5)
        for name in NAMES:
            self.world.add_community(name)
        for number in range(POSTS_EACH, 0, -1):
            self.world.hold_time(self.read_at - timedelta(minutes=5 * number))
            for name in NAMES:
                self._post(name)
        for name in NAMES:
            self._talk(self.world.community(name).posts[0])  # type: ignore[union-attr]
        self.world.hold_time(self.read_at)

    @property
    def env(self) -> dict[str, str]:
        return {**self.site.environment(), "REDDIT_COMMENTS": "on"}

    def read_this_morning(self, server: DemoServer) -> None:
        """Before Watchbook is up: its schedule knows no time but now."""
        pool = server.home / "communities.json"
        pool.write_text(json.dumps([{"name": f"r/{name}", "tier": "high"} for name in NAMES]), encoding="utf-8")
        server.command("reddit", "load-pool", str(pool), "--json")
        visits = server.command("reddit", "crawl", "--force", "--now", self.read_at.isoformat(), "--json")[
            "communities"
        ]
        self.collected = sum(visit.get("new_posts", 0) for visit in visits)
        self.move_on()

    def move_on(self) -> None:
        """Since then: one post was edited, one was removed, and there are new comments everywhere."""
        self.world.hold_time(None)
        edited, removed = (self.world.community(name).posts[-1] for name in NAMES[:2])  # type: ignore[union-attr]
        self.world.edit(edited, f"{self.world.posts[edited].text} Edited: the lantern was a beacon.")
        self.world.remove(removed)
        edited, deleted = list(self.world.comments)[:2]
        self.world.edit(edited, f"{self.world.comments[edited].text} Edited: the beacon was a lantern.")
        self.world.delete(deleted)
        for name in NAMES:
            self.world.comment(self._post(name), self._words(8))

    def go_on(self) -> None:
        """New content: a user writes, now and then edits it, and now and then a moderator comes by."""
        made = self._post(self._chance.choice(NAMES))
        self.world.comment(self._chance.choice(list(self.world.posts)), self._words(12))
        older = self._chance.choice(list(self.world.posts))
        what = self._chance.random()
        if what < 0.3:
            self.world.edit(made, self._words(20))
        elif what < 0.4 and self.world.posts[older].is_visible:
            self.world.remove(older)

    def one_round(self, server: DemoServer) -> tuple[tuple[Any, ...], bool]:
        """Crawl every community, look posts up again: every post, every text and every removal is known."""
        server.patiently("reddit", "crawl", "--force", "--json")
        server.patiently("jobs", "run", "reddit.recheck", "--json")
        wanted = self.expected()
        is_right = bool(becomes(lambda: self.stored(server) == wanted, 30)) and self._has_texts(server, wanted)
        is_right = is_right and self.collected == POSTS_EACH * len(NAMES)
        is_right = is_right and self.stored_comments(server) == self.expected_comments()
        stored = self.stored(server)
        if not is_right:
            wrong = sorted(key for key in {*wanted, *stored} if wanted.get(key) != stored.get(key))
            print(f"reddit: {self.collected} posts were read first; what is kept of these differs: {wrong}")
        gone = sum(is_gone for _, is_gone in stored.values())
        edited = sum(count > 1 for count, _ in stored.values())
        return ("reddit", self.collected, f"+{len(stored) - self.collected} −{gone} ~{edited}", 0), is_right

    def stored(self, server: DemoServer) -> Posts:
        rows = server.ask("GET", "/reddit/posts?limit=200")["items"]
        return {
            row["source_post_id"]: (row["version"], bool(row["removed_by_category"] or row["author_deleted"]))
            for row in rows
        }

    def expected(self) -> Posts:
        return {post.id: (len(post.texts()), not post.is_visible) for post in self.world.listed()}

    def stored_comments(self, server: DemoServer) -> Posts:
        rows = server.ask("GET", "/reddit/comments?limit=200")["items"]
        gone = {row["comment_id"]: bool(row["removed_by_category"] or row["author_deleted"]) for row in rows}
        return {row["comment_id"]: (row["version"], gone[row["comment_id"]]) for row in rows}

    def expected_comments(self) -> Posts:
        return {made.id: (len(made.texts()), not made.is_visible) for made in self.world.listed_comments()}

    def wrote(self, page: dict[str, Any]) -> bool:
        return any(post.title in page["title"] for post in self.world.posts.values())

    def _has_texts(self, server: DemoServer, posts: Posts) -> bool:
        """The texts themselves, of those that had more than one."""
        for post_id in (post_id for post_id, (count, _) in posts.items() if count > 1):
            versions = server.ask("GET", f"/reddit/posts/{post_id}/versions")["items"]
            if [version["content"] for version in versions] != self.world.posts[post_id].texts():
                return False
        return True

    def _post(self, name: str) -> str:
        score = self._chance.randint(1, 90)
        return self.world.post(name, self._words(5).capitalize(), self._words(30), score=score)

    def _talk(self, post: str) -> None:
        """Four comments, one below the other by twos."""
        first = self.world.comment(post, self._words(15))
        self.world.comment(post, self._words(6))
        answer = self.world.comment(post, self._words(9), parent=first)
        self.world.comment(post, self._words(5), parent=answer)

    def _words(self, count: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=count))
