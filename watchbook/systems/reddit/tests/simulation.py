"""Simulated days: a stand-in Reddit that lives, the system's own schedule, and the ledger that judges afterwards.

days = Days(site, communities=20, days=3)
days.pass_by()
days.verdict()
"""

from __future__ import annotations

import heapq
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from standins.reddit import Comment as Comment_
from standins.reddit import Life, Nature, Post, RedditSite
from watchbook.base import clock
from watchbook.core import registry
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.watching import every
from watchbook.systems.reddit.models import Comment, CommunityPool, FoundBy, PostRaw, PostSpan
from watchbook.systems.reddit.parse import text_norm_hash
from watchbook.systems.reddit.store.communities import sync_pool

START = datetime(2026, 3, 2, 0, 0, tzinfo=UTC)
VISITING = ("reddit.incremental", "reddit.due", "reddit.low_quality", "reddit.deep_walk")
JOBS = (*VISITING, "reddit.recheck", "reddit.honor_deletions", "reddit.clean_hot", "reddit.daily_metrics")
# By the thresholds of the tiers about 40, 60 and 100 communities of 200; and everything that goes wrong.
USUAL = Nature(median_rate=6, sigma=1.6)
HARD = replace(USUAL, bursts=6, private=4, banned=3)
# A post that entered the list this much after its own time was approved late.
LATE = timedelta(minutes=1)
# Runs that fail with these outcomes met an outage; the next ones continue.
STATES = ("removed", "deleted", "approved")
OUTAGES = ("wall", "throttled", "upstream", "busy")


@dataclass
class Verdict:
    """What the ledger says. `missed` and the next two must be 0; gaps are said or they are not."""

    posts: int
    stored: int
    missed: int
    found_only_by_walking: int
    unreported_losses: int
    lost_at_ceiling: int
    gaps: int
    wrong_versions: int
    edited_posts: int
    returned_texts: int
    unblanked: int
    requests: int
    uncounted: int
    mean_minutes: float
    p95_minutes: float
    days: float

    def lines(self) -> Iterable[str]:
        yield from (f"{name:24} {value:,.1f}" if isinstance(value, float) else f"{name:24} {value:,}"
                    for name, value in vars(self).items())  # fmt: skip
        yield f"{'requests a day':24} {self.requests / self.days:,.0f}"


@dataclass
class CommentsVerdict:
    """The same for comments. `wrong_states` are those that differ from the ledger at the time of the last check."""

    comments: int
    stored: int
    missed: int
    unreported_losses: int
    lost_at_ceiling: int
    gaps: int
    wrong_versions: int
    edited: int
    wrong_states: int
    gone: int
    unblanked: int


@dataclass
class Days:
    site: RedditSite
    communities: int = 20
    days: float = 3
    seed: int = 1
    nature: Nature = HARD
    # communities of the pool that Reddit does not know
    unknown: int = 1
    # The minute's look for due communities, less often: a simulation of weeks is about what is found, not how soon.
    minutes_between_looks: int = 1
    crawls: dict[str, list[tuple[datetime, str, bool]]] = field(default_factory=lambda: defaultdict(list))
    requests: int = 0

    def __post_init__(self) -> None:
        names = [f"madeup{number:03}" for number in range(self.communities)]
        self.life = Life(self.site.world, names, START, self.days, seed=self.seed, nature=self.nature)
        for name in [*names, *(f"nowhere{n}" for n in range(self.unknown))]:
            CommunityPool.objects.create(name=f"r/{name}", tier="low")
        self.life.until(START)
        with clock.set_to(START):
            sync_pool(START)

    def pass_by(self, each_day: Callable[[datetime], None] = lambda _now: None) -> None:
        """Every job at its own slots, as the beat would have it."""
        end = START + timedelta(days=self.days)
        slots = [(registry.jobs()[name].schedule.next_after(START - timedelta(seconds=1)), name) for name in JOBS]
        heapq.heapify(slots)
        day = START.date()
        while slots[0][0] <= end:
            slot, name = heapq.heappop(slots)
            job = registry.jobs()[name]
            heapq.heappush(slots, (self._following(name, slot), name))
            if slot.date() != day:
                day = slot.date()
                each_day(slot)
            self.life.until(slot)
            with clock.set_to(slot):
                if not job.wanted or registry.load(job.wanted)(slot):
                    self._run(name, slot)

    def _following(self, name: str, slot: datetime) -> datetime:
        if name == "reddit.due" and self.minutes_between_looks > 1:
            return every(minutes=self.minutes_between_looks).next_after(slot)
        return registry.jobs()[name].schedule.next_after(slot)

    def walk_everything(self) -> None:
        """At the end: the whole listing of everybody, so that what the list still holds is known."""
        moment = START + timedelta(days=self.days)
        with clock.set_to(moment):
            for _ in range(8):
                self._run("reddit.deep_walk", moment)

    def _run(self, name: str, slot: datetime) -> None:
        run = run_now(name, {"detailed": True} if name in VISITING else {})
        assert run.state == "done" or run.error_code in OUTAGES, (name, run.error)
        self.requests += run.http_request_count
        for line in run.progress.get("communities", ()):
            listing = f"{line['community']} {line.get('listing', 'posts')}"
            self.crawls[listing].append((slot, line["outcome"], line["possible_gap"]))
        JobRun.objects.filter(pk=run.pk).delete()

    def verdict(self) -> Verdict:
        rows = {
            row.source_post_id: row for row in PostRaw.objects.filter(is_current=True).defer("content", "extra_data")
        }
        world = self.site.world
        listed = [post for post in world.listed() if post.listed_at > START]
        missed, lost, unreported = self._missing([post for post in listed if post.id not in rows], "posts")
        delays = self._delays(rows)
        wrong, edited, returned = self._versions()
        return Verdict(
            posts=len(listed),
            stored=sum(post.id in rows for post in listed),
            missed=missed,
            found_only_by_walking=self._late_finds(rows),
            unreported_losses=unreported,
            lost_at_ceiling=lost,
            gaps=self._gaps("posts"),
            wrong_versions=wrong,
            edited_posts=edited,
            returned_texts=returned,
            unblanked=PostRaw.objects.to_erase().filter(updated_at__lt=clock.now() - timedelta(days=1)).count(),
            requests=self.requests,
            uncounted=self.site.log.count() - self.requests,
            mean_minutes=statistics.fmean(delays) if delays else 0.0,
            p95_minutes=sorted(delays)[int(len(delays) * 0.95)] if delays else 0.0,
            days=self.days,
        )

    def comments_verdict(self) -> CommentsVerdict:
        """What the ledger says of comments: those of the listings, their texts and their states."""
        rows = {row.comment_id: row for row in Comment.objects.prefetch_related("versions")}
        listed = [made for made in self.site.world.listed_comments() if made.listed_at > START]
        missed, lost, unreported = self._missing([made for made in listed if made.id not in rows], "comments")
        things = self.site.world.comments
        return CommentsVerdict(
            comments=len(listed),
            stored=sum(made.id in rows for made in listed),
            missed=missed,
            unreported_losses=unreported,
            lost_at_ceiling=lost,
            gaps=self._gaps("comments"),
            wrong_versions=sum(_comment_hashes(row) != _shown_hashes(things[key]) for key, row in rows.items()),
            edited=sum(row.version > 1 for row in rows.values()),
            wrong_states=sum(not _has_state(row, things[key]) for key, row in rows.items()),
            gone=sum(row.is_gone for row in rows.values()),
            unblanked=Comment.objects.to_erase().filter(updated_at__lt=clock.now() - timedelta(days=1)).count(),
        )

    def _gaps(self, listing: str) -> int:
        own = [lines for key, lines in self.crawls.items() if key.endswith(f" {listing}")]
        return sum(gap for lines in own for _, _, gap in lines)

    def _missing(self, posts: Sequence[Post | Comment_], listing: str) -> tuple[int, int, int]:
        """Still to be seen in the list; fallen off it; fallen off, and the next visit did not say so."""
        missed = lost = unreported = 0
        for post in posts:
            home = self.site.world.communities[post.community.lower()]
            crawls = self.crawls[f"r/{home.name} {listing}"]
            seen = [line for line in crawls if line[1] == "ok" and line[0] >= post.listed_at]
            if not seen or not _was_there(post, seen):
                continue
            if post.id in (home.order if listing == "posts" else home.comment_order):
                missed += post.is_visible and home.status == "open"
            else:
                lost += 1
                unreported += not seen[0][2]
        return missed, lost, unreported

    def _late_finds(self, rows: dict[str, PostRaw]) -> int:
        """Found below known posts though they were there all the time: a visit must have passed them over."""
        found = [row.source_post_id for row in rows.values() if row.found_by == FoundBy.DEEP]
        late = [key for key in found if self._post(key).listed_at > START]
        return sum(not any(kind in ("removed", "approved") for _, kind, _ in self._post(key).history) for key in late)

    def _post(self, post_id: str) -> Post:
        return self.site.world.posts[post_id]

    def _delays(self, rows: dict[str, PostRaw]) -> list[float]:
        """Minutes from a post's time to its first sight; late approvals apart, they are the same for everybody."""
        found = [row for row in rows.values() if row.found_by == FoundBy.NEW]
        on_time = [row for row in found if self._post(row.source_post_id).listed_at - row.created_at < LATE]
        return [(row.first_seen_at - row.created_at).total_seconds() / 60 for row in on_time]

    def _versions(self) -> tuple[int, int, int]:
        """Posts whose versions are not the texts that were shown, one after the other."""
        kept: dict[str, list[str]] = defaultdict(list)
        spans = PostSpan.objects.order_by("source_post_id", "version")
        for post_id, digest in spans.values_list("source_post_id", "post__text_norm_hash"):
            kept[post_id].append(digest)
        wrong = edited = returned = 0
        for post_id, digests in kept.items():
            post = self._post(post_id)
            shown = [text_norm_hash(post.title, text, post.link) for _, text in post.shown]
            wrong += digests != shown
            edited += len(shown) > 1
            returned += len(shown) > len(set(shown))
        return wrong, edited, returned


def _comment_hashes(row: Comment) -> list[str]:
    earlier = [version.text_norm_hash for version in sorted(row.versions.all(), key=lambda one: one.version)]
    return [*earlier, row.text_norm_hash]


def _shown_hashes(made: Comment_) -> list[str]:
    return [text_norm_hash("", text, "") for _, text in made.shown]


def _has_state(row: Comment, made: Comment_) -> bool:
    """Is the state the one that the comment had when it was last checked? What a mishap removes is served first."""
    states = [kind for at, kind, _ in made.history if at < row.observed_at and kind in STATES]
    last = states[-1] if states else "posted"
    return (bool(row.removed_by_category), row.author_deleted) == (last == "removed", last == "deleted")


def _was_there(post: Post | Comment_, crawls: list[tuple[datetime, str, bool]]) -> bool:
    """Was it visible at one of these crawls at least?"""
    for moment, _, _ in crawls:
        state = True
        for at, kind, _ in post.history:
            if at <= moment and at >= post.listed_at:
                state = kind not in ("removed", "deleted") if kind != "edited" else state
        if state:
            return True
    return False


def environment(site: RedditSite, **more: Any) -> dict[str, str]:
    return {
        **site.environment(),
        "WATCHBOOK_TRUSTED_HOSTS": site.netloc,
        "WATCHBOOK_PACE": "off",
        "CRAWLER_MAX_CONCURRENCY": "1",
        **{name: str(value) for name, value in more.items()},
    }
