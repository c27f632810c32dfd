"""Days in the life of many communities: bursts, late approvals, edits, reverts, removals and restores, all seeded."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from standins.reddit.world import BANNED, PRIVATE, World

WORDS = [
    "harbour",
    "lantern",
    "copper",
    "walnut",
    "meadow",
    "signal",
    "ledger",
    "compass",
    "orchard",
    "granite",
    "velvet",
    "timber",
    "beacon",
    "saddle",
    "pepper",
    "marble",
    "canyon",
    "thimble",
    "raven",
    "willow",
    "anchor",
    "basket",
    "cinder",
    "dapple",
    "ember",
    "falcon",
    "garnet",
    "hazel",
    "indigo",
    "juniper",
]


@dataclass(frozen=True)
class Nature:
    """How often things happen, per post or per community. Lags are medians in hours."""

    median_rate: float = 15.0
    sigma: float = 1.6
    most_rate: float = 900.0
    daily_swing: float = 0.7
    filtered: float = 0.03
    approved: float = 0.6
    approval_hours: float = 7.2
    edited: float = 0.08
    edit_hours: float = 2.4
    reverted: float = 0.25
    removed: float = 0.03
    removal_hours: float = 3.0
    restored: float = 0.3
    deleted: float = 0.01
    # Comments per post, each after this many hours (median) and with these chances of its own.
    comments: float = 0.0
    comment_hours: float = 3.0
    comment_bursts: int = 0
    burst_comments: int = 1300
    bursts: int = 0
    burst_posts: int = 1300
    private: int = 0
    banned: int = 0


class Life:
    """`until(moment)` lets everything happen that happens up to then. Posts that will be are decided as they come."""

    def __init__(
        self,
        world: World,
        names: list[str],
        start: datetime,
        days: float,
        *,
        seed: int = 1,
        nature: Nature | None = None,
    ) -> None:
        self.world = world
        self.nature = nature or Nature()
        self.end = start + timedelta(days=days)
        self.rates: dict[str, float] = {}
        self._threads: dict[str, list[str]] = {}
        self._chance = random.Random(seed)
        # Of their own, so that posts are the same with and without comments.
        self._comment_chance = random.Random(f"comments {seed}")
        self._events: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        for name in names:
            self._settle(name, start)
        self._plan_trouble(names, start, days)

    def until(self, moment: datetime) -> None:
        world = self.world
        with world.lock:
            while self._events and self._events[0][0] <= moment:
                at, _, happen = heapq.heappop(self._events)
                world.hold_time(at)
                happen()
            world.hold_time(moment)

    def _settle(self, name: str, start: datetime) -> None:
        """A community with a past: the posts of the last days are there already."""
        nature = self.nature
        rate = min(math.exp(self._chance.gauss(math.log(nature.median_rate), nature.sigma)), nature.most_rate)
        self.rates[name] = rate
        self.world.add_community(name, subscribers=int(rate * 1000))
        self._next_post(name, start - timedelta(days=3), self._chance.random() * 24)

    def _next_post(self, name: str, after: datetime, peak_hour: float) -> None:
        """The next arrival of a process whose rate swings with the hour: too many are drawn, some are passed over."""
        swing = self.nature.daily_swing
        most = self.rates[name] * (1 + swing)
        at = after
        while True:
            at += timedelta(days=self._chance.expovariate(most))
            hour = at.hour + at.minute / 60
            rate = self.rates[name] * (1 + swing * math.cos((hour - peak_hour) * math.pi / 12))
            if self._chance.random() * most <= rate:
                break
        if at < self.end:
            self._at(at, lambda: self._arrive(name, at, peak_hour))

    def _arrive(self, name: str, at: datetime, peak_hour: float) -> None:
        self._post(name)
        self._next_post(name, at, peak_hour)

    def _post(self, name: str) -> None:
        chance, nature, world = self._chance, self.nature, self.world
        link = f"https://example.org/{chance.randrange(16**8):08x}" if chance.random() < 0.4 else ""
        text = "" if link else self._words(12, 60)
        filtered = chance.random() < nature.filtered
        score = max(1, int(chance.paretovariate(1.1)))
        post = world.post(name, self._words(4, 12), text, link=link, filtered=filtered, score=score)
        self._plan_comments(post)
        if filtered:
            if chance.random() < nature.approved:
                self._later(nature.approval_hours, lambda: world.approve(post))
            return
        if text and chance.random() < nature.edited:
            self._later(nature.edit_hours, lambda: self._edit(post))
        if chance.random() < nature.removed:
            self._later(nature.removal_hours, lambda: self._remove(post))
        elif chance.random() < nature.deleted:
            self._later(nature.removal_hours, lambda: world.delete(post))

    def _plan_comments(self, post: str) -> None:
        chance, nature = self._comment_chance, self.nature
        if nature.comments:
            for _ in range(min(int(chance.expovariate(1 / nature.comments)), 300)):
                lag = timedelta(hours=chance.lognormvariate(math.log(nature.comment_hours), 1.0))
                self._at(self.world.now() + lag, lambda: self._comment(post))

    def _comment(self, post: str) -> None:
        """A comment on the post or on one of its comments; sometimes held back, edited, removed or deleted."""
        chance, nature, world = self._comment_chance, self.nature, self.world
        earlier = self._threads.setdefault(post, [])
        parent = chance.choice(earlier) if earlier and chance.random() < 0.6 else ""
        filtered = chance.random() < nature.filtered
        text = " ".join(chance.choices(WORDS, k=chance.randint(3, 20)))
        made = world.comment(post, text, parent=parent, filtered=filtered, score=chance.randint(1, 30))
        earlier.append(made)
        if filtered and chance.random() < nature.approved:
            self._soon(nature.approval_hours, lambda: world.approve(made))
        elif not filtered and chance.random() < nature.edited:
            self._soon(nature.edit_hours, lambda: self._edit_comment(made, text))
        elif not filtered and chance.random() < nature.removed:
            self._soon(nature.removal_hours, lambda: world.remove(made))
        elif not filtered and chance.random() < nature.deleted:
            self._soon(nature.removal_hours, lambda: world.delete(made))

    def _edit_comment(self, made: str, before: str) -> None:
        self.world.edit(made, f"{before} {self._comment_chance.choice(WORDS)}")
        if self._comment_chance.random() < self.nature.reverted:
            self._soon(self.nature.edit_hours * 8, lambda: self.world.edit(made, before))

    def _soon(self, median_hours: float, happen: Callable[[], None]) -> None:
        lag = timedelta(hours=self._comment_chance.lognormvariate(math.log(median_hours), 1.0))
        self._at(self.world.now() + lag, happen)

    def _burst_comments(self, name: str) -> None:
        """Everybody writes below the newest post."""
        post = self.world.communities[name.lower()].posts[-1]
        for _ in range(self.nature.burst_comments):
            lag = timedelta(minutes=self._comment_chance.uniform(0, 45))
            self._at(self.world.now() + lag, lambda: self._comment(post))

    def _edit(self, post: str) -> None:
        made = self.world.posts[post]
        before = made.text
        self.world.edit(post, f"{before} {self._words(3, 8)}")
        if self._chance.random() < self.nature.reverted:
            self._later(self.nature.edit_hours * 8, lambda: self.world.edit(post, before))

    def _remove(self, post: str) -> None:
        self.world.remove(post)
        if self._chance.random() < self.nature.restored:
            self._later(self.nature.removal_hours * 2, lambda: self.world.restore(post))

    def _plan_trouble(self, names: list[str], start: datetime, days: float) -> None:
        chance, nature, world = self._chance, self.nature, self.world
        for name in chance.choices(names, k=nature.bursts):
            first = start + timedelta(days=chance.uniform(0.5, max(days - 0.5, 0.6)))
            for _ in range(nature.burst_posts):
                at = first + timedelta(minutes=chance.uniform(0, 60))
                self._at(at, lambda name=name: self._post(name))  # type: ignore[misc]
        for name in self._comment_chance.choices(names, k=nature.comment_bursts):
            at = start + timedelta(days=self._comment_chance.uniform(0.4, max(days - 0.5, 0.5)))
            self._at(at, lambda name=name: self._burst_comments(name))  # type: ignore[misc]
        for name in chance.sample(names, min(nature.private, len(names))):
            at = start + timedelta(days=chance.uniform(0.3, days * 0.6))
            self._at(at, lambda name=name: world.set_status(name, PRIVATE))  # type: ignore[misc]
            self._at(at + timedelta(hours=8), lambda name=name: world.set_status(name, "open"))  # type: ignore[misc]
        for name in chance.sample(names, min(nature.banned, len(names))):
            at = start + timedelta(days=chance.uniform(0.3, days * 0.6))
            self._at(at, lambda name=name: world.set_status(name, BANNED))  # type: ignore[misc]

    def _later(self, median_hours: float, happen: Callable[[], None]) -> None:
        lag = timedelta(hours=self._chance.lognormvariate(math.log(median_hours), 1.0))
        self._at(self.world.now() + lag, happen)

    def _at(self, moment: datetime, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), happen))

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=self._chance.randint(least, most)))
