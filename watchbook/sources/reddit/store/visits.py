"""One visit into the tables: posts, watermark, averages, hits, due time, gap, metrics; all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from watchbook.base.text import cut
from watchbook.core.stream.record import Entry, record
from watchbook.sources.reddit.models import CommunityCache, FoundBy, Outcome, PostRaw
from watchbook.sources.reddit.models.communities import REFUSALS
from watchbook.sources.reddit.parse import PostRecord
from watchbook.sources.reddit.places import community_path
from watchbook.sources.reddit.records import Tally, VisitReport, Walk
from watchbook.sources.reddit.store import metrics
from watchbook.sources.reddit.store.posts import Reading, store_posts

AVERAGED = timedelta(days=7)
# A span shorter than this says little about a day.
LEAST_SPAN = timedelta(hours=1)
REFUSALS_UNTIL_INACTIVE = 3
REFUSED_AT_LEAST = timedelta(hours=24)
REFUSED_AGAIN_AFTER = timedelta(hours=12)
# Trouble that is about us: the community need not wait longer than everybody.
ABOUT_US = (Outcome.THROTTLED, Outcome.WALL, Outcome.AUTH, Outcome.BUSY)
WAITED_AT_LEAST = timedelta(minutes=3)
FAILED_AGAIN_AFTER = timedelta(minutes=5)
FAILED_MOST = timedelta(hours=6)


def lock(name: str) -> CommunityCache:
    """The community's row, ours until the transaction ends: two readings of one community write one after the other."""
    return CommunityCache.objects.select_for_update().get(community_name=name)


def lock_all(names: Iterable[str]) -> None:
    """Many at once, in one order for everybody: nobody waits for whom he holds up."""
    rows = CommunityCache.objects.select_for_update().filter(community_name__in=set(names)).order_by("community_name")
    list(rows.values_list("pk", flat=True))


def store_visit(name: str, walk: Walk, *, next_due: datetime, now: datetime) -> VisitReport:
    """Save what a visit read, also when it broke off. The watermark moves with the posts or not at all."""
    community = lock(name)
    if walk.outcome not in (Outcome.OK, Outcome.EMPTY) and not walk.posts:
        return _store_failure(community, walk, now)
    tally = _store_walk(community, walk, now)
    moved = _move_watermark(community, walk.posts)
    gap = _note_gap(community, walk, now)
    _count(community, walk, now)
    _average(community, walk, now)
    community.next_due = next_due
    if walk.outcome != Outcome.OK:
        community.next_due = min(next_due, now + FAILED_AGAIN_AFTER)
    community.save()
    report = VisitReport(name, walk.outcome, tally, moved, walk.seconds, walk.requests, gap)
    metrics.add_visit(report, now)
    return report


def _store_walk(community: CommunityCache, walk: Walk, now: datetime) -> Tally:
    """What stood above the known posts is new; an unknown one below them was missed, came back, or is history."""
    name, cut_at = community.community_name, walk.above_known
    found_by = FoundBy.BASELINE if walk.is_first else FoundBy.NEW
    tally = store_posts(walk.posts[:cut_at], Reading(name, now, found_by, is_new_listing=True))
    if walk.posts[cut_at:]:
        below = Reading(name, now, FoundBy.DEEP, is_new_listing=True, history_before=community.covered_from)
        tally.add(store_posts(walk.posts[cut_at:], below))
    return tally


def _move_watermark(community: CommunityCache, posts: Sequence[PostRecord]) -> bool:
    """To the newest post that was seen, by time and then by id; never back, never to now."""
    newest = max(posts, key=lambda post: (post.created_at, post.post_id), default=None)
    if newest is None:
        return False
    seen = community.last_seen_created_at
    if seen is not None and newest.created_at <= seen:
        return False
    community.last_seen_created_at, community.last_seen_post_id = newest.created_at, newest.post_id
    return True


def _note_gap(community: CommunityCache, walk: Walk, now: datetime) -> bool:
    """A walk that did not join up is a possible gap. A broken one can be joined later, one at the ceiling cannot."""
    if walk.is_first and walk.outcome in (Outcome.OK, Outcome.EMPTY):
        community.covered_from = _covered_from(walk, now)
        community.last_complete_at = now
        return False
    if walk.is_joined:
        community.last_complete_at = now
        community.possible_gap = False
        return False
    if walk.outcome in (Outcome.OK, Outcome.EMPTY):
        community.last_complete_at = now
    if walk.is_first:
        return False
    if not community.possible_gap:
        community.gap_count += 1
        _tell_gap(community, now)
    community.possible_gap, community.gap_at = True, now
    return True


def _covered_from(walk: Walk, now: datetime) -> datetime:
    """A first walk that reached the end knows everything; another one knows from its last posts on.

    From the latest of the last three: a post that was approved late has a time from long before its place.
    """
    if walk.reached_end or not walk.posts:
        return now - AVERAGED
    return max(post.created_at for post in walk.posts[-3:])


def _count(community: CommunityCache, walk: Walk, now: datetime) -> None:
    community.last_crawled_at = community.updated_at = now
    community.last_outcome = walk.outcome
    community.request_count += walk.requests
    if walk.outcome == Outcome.OK:
        community.success_hit += 1
        community.failures_in_row = community.refusals_in_row = 0
        community.refused_since = None
    elif walk.outcome == Outcome.EMPTY:
        community.empty_hit += 1
        community.failures_in_row = 0
    else:
        community.failure_hit += 1
        community.failures_in_row += 1


def _average(community: CommunityCache, walk: Walk, now: datetime) -> None:
    """New valid posts a day over seven days, or over as much of them as is known."""
    if walk.outcome != Outcome.OK or community.covered_from is None:
        return
    # A second less than a week: posts of just a week ago would make it eight days of a daily rhythm.
    since = max(community.covered_from, now - AVERAGED + timedelta(seconds=1))
    count = PostRaw.objects.valid().filter(subreddit=community.community_name, created_at__gte=since).count()
    days = max(now - since, LEAST_SPAN) / timedelta(days=1)
    community.rate = count / days
    community.avg_valid_posts = round(community.rate)


def _store_failure(community: CommunityCache, walk: Walk, now: datetime) -> VisitReport:
    """Nothing was read: neither watermark nor average nor last visit move."""
    community.last_outcome, community.updated_at = walk.outcome, now
    community.request_count += walk.requests
    if walk.outcome == Outcome.SUSPICIOUS_EMPTY:
        community.empty_hit += 1
        community.next_due = now + FAILED_AGAIN_AFTER
    else:
        community.failure_hit += 1
        community.failures_in_row += 1
        community.next_due = now + _back_off(community, walk)
    if walk.outcome in REFUSALS:
        _count_refusal(community, walk.outcome, now)
    community.save()
    report = VisitReport(community.community_name, walk.outcome, Tally(), False, walk.seconds, walk.requests, False)
    metrics.add_visit(report, now)
    return report


def _back_off(community: CommunityCache, walk: Walk) -> timedelta:
    if walk.outcome in REFUSALS:
        return REFUSED_AGAIN_AFTER
    if walk.outcome in ABOUT_US:
        return max(WAITED_AT_LEAST, timedelta(seconds=walk.wait_seconds or 0))
    doubled: timedelta = FAILED_AGAIN_AFTER * 2 ** min(community.failures_in_row - 1, 10)
    asked = timedelta(seconds=walk.wait_seconds or 0)
    return max(min(doubled, FAILED_MOST), asked)


def _count_refusal(community: CommunityCache, outcome: str, now: datetime) -> None:
    """Three refusals in a row over at least a day: it is meant."""
    community.refusals_in_row += 1
    community.refused_since = community.refused_since or now
    lasted = now - community.refused_since >= REFUSED_AT_LEAST
    if community.is_active and lasted and community.refusals_in_row >= REFUSALS_UNTIL_INACTIVE:
        community.is_active = False
        community.inactive_reason = cut(outcome, 200)
        _tell(community, "inactive", Outcome(outcome).label, now)


def _tell_gap(community: CommunityCache, now: datetime) -> None:
    _tell(community, "gap", _("The listing ended before it met a known post."), now)


def _tell(community: CommunityCache, kind: str, summary: object, now: datetime) -> None:
    name = community.community_name
    record(
        [
            Entry(
                source="reddit", kind=kind, title=name, summary=str(summary), url_path=community_path(name),
                scope="members", object_kind="reddit_community", object_id=name, occurred_at=now,
                event_key=f"{now:%Y%m%dT%H%M%S}",
            )
        ]
    )  # fmt: skip
