"""Days of a made-up Reddit in virtual time: `python -m tests.browser.reddit_days` with a plan on its input.

It runs in a process of its own, because the tests have another database. Prints the ids of the posts that matter.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from datetime import datetime, timedelta
from typing import Any

import django

# Name, the operator's wish, posts every six hours.
COMMUNITIES = (
    ("harbourlights", "high", 9), ("paperboats", "medium", 3), ("nightferry", "medium", 1), ("oldcharts", "low", 0),
    ("closedclub", "low", 0), ("slowquay", "low", 1),
)  # fmt: skip
STEP = timedelta(hours=6)
TITLES = (
    "How do you keep brass lamps from tarnishing?", "Walked the mole at dawn, nobody about",
    "Which ferry still takes bicycles", "灯塔的旧钥匙还有人收藏吗", "Weekly thread: small repairs",
    "Is the east pier open again?",
)  # fmt: skip
TEXT = (
    "The council wants to close the north pier for the winter.\n\nLast year it took three weeks and nobody told the "
    "ferry office. Tickets bought before October stay valid.\n\nAsk at the blue hut."
)


class Story:
    """The stand-in Reddit in another process, led through its control desk."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.count = 0

    def do(self, action: str, /, **values: Any) -> Any:
        data = json.dumps(values).encode()
        request = urllib.request.Request(f"{self.url}/_standin/do/{action}", data=data, method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["result"]

    def live(self, moment: datetime) -> None:
        """What people post in six hours."""
        for name, _wish, most in COMMUNITIES:
            for number in range(most):
                self.count += 1
                self.do("hold_time", moment=(moment - STEP * (number + 1) / (most + 1)).isoformat())
                title = f"{TITLES[self.count % len(TITLES)]} ({self.count})"
                self.post(
                    name, title, f"Number {self.count}. {TEXT}", score=self.count * 7 % 90, comments=self.count % 23
                )
        self.do("hold_time", moment=moment.isoformat())

    def post(self, name: str, title: str, text: str, **given: int) -> str:
        return str(self.do("post", name=name, title=title, text=text, **given))


def crawl(moment: datetime, *jobs: str) -> None:
    from watchbook.base import clock
    from watchbook.core.jobs import runner

    with clock.set_to(moment):
        for job in jobs:
            runner.run_now(job)


def main() -> None:
    plan = json.load(sys.stdin)
    django.setup()

    from watchbook.base import clock
    from watchbook.core.accounts import actions as people
    from watchbook.systems.reddit import actions
    from watchbook.systems.reddit.pool import PoolEntry

    for email, is_operator in plan["people"].items():
        people.add(email, plan["password"], operator=is_operator, verified=True)
    story, now = Story(plan["url"]), clock.now()
    start = now - timedelta(days=plan["days"])
    for name, _wish, _most in COMMUNITIES:
        story.do("add_community", name=name, status="private" if name == "closedclub" else "open")
    story.live(start)
    ids = {
        "edited": story.post("harbourlights", "The north pier closes in November", TEXT, score=61, comments=14),
        "removed": story.post("harbourlights", "Cheap tickets, write to me", "Do not ask where from."),
        "deleted": story.post("paperboats", "I sank the big one", "It was the wind."),
    }
    with clock.set_to(start):
        pool = [PoolEntry(f"r/{name}", wish, ("harbour",)) for name, wish, _most in COMMUNITIES]
        actions.load_entries(pool, "harbour.json")
    moment = start
    while moment < now - STEP / 2:
        crawl(moment, "reddit.incremental", "reddit.recheck", "reddit.crawler_health", "reddit.warmup_metrics")
        if moment - start == STEP:
            story.do("edit", post_id=ids["edited"], text=TEXT.replace("close the north pier", "rebuild the north pier"))
        if moment - start == 2 * STEP:
            story.do("edit", post_id=ids["edited"], text=TEXT.replace("October", "December"))
            story.do("remove", post_id=ids["removed"])
            story.do("delete", post_id=ids["deleted"])
        if moment.astimezone(clock.SHANGHAI).hour < STEP / timedelta(hours=1):
            crawl(moment, "reddit.daily_metrics")
        moment += STEP
        story.live(min(moment, now))
    crawl(now - timedelta(minutes=2), "reddit.incremental", "reddit.recheck")
    with clock.set_to(now - timedelta(minutes=1)):
        for _number in range(6):
            actions.newest("harbourlights")
            actions.newest("oldcharts")
    crawl(now, "reddit.api_calls", "reddit.cache_health", "reddit.crawler_health", "reddit.warmup_metrics")
    story.do("hold_time", moment=None)
    json.dump(ids, sys.stdout)


if __name__ == "__main__":
    main()
