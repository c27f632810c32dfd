"""What people and programs do with communities and posts: the one door for pages, API and command line.

Reading: `communities`, `community`, `posts`, `post`, `versions`, `newest`, `hours`, `days`.
Changing (operators): `load_pool`, `load_entries`, `set_active`, `set_wish`, `visit_soon`, `crawl_soon`, `erase_posts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import cut
from watchbook.core.accounts import audit
from watchbook.core.jobs import queue
from watchbook.core.jobs.actions import exclusive_name
from watchbook.core.jobs.models import JobRun
from watchbook.core.search.find import bounded
from watchbook.sources.reddit.jobs.incremental import full_name
from watchbook.sources.reddit.models import (
    CommunityCache,
    CommunityPool,
    CrawlDay,
    CrawlMetrics,
    PostRaw,
    PostSpan,
    Wish,
)
from watchbook.sources.reddit.models.communities import FOLDED
from watchbook.sources.reddit.models.posts import SOURCE
from watchbook.sources.reddit.pool import PoolEntry, read_pool
from watchbook.sources.reddit.store import communities as rows
from watchbook.sources.reddit.store.blanking import blank_posts
from watchbook.sources.reddit.store.reading import read_posts

CRAWL, VISIT = "reddit.incremental", "reddit.community"
# A program that edits its post at every visit is cut here.
MOST_VERSIONS = 500
OVERDUE_AFTER = timedelta(hours=1)


class WrongValue(Exception):
    """A value cannot be used. `field` names it, the message says what would be right."""

    def __init__(self, field: str, message: str, code: str = "invalid") -> None:
        super().__init__(message)
        self.field, self.message, self.code = field, message, code


class Unknown(Exception):
    """There is no such community or post."""


@dataclass(frozen=True)
class PostFilter:
    """What a list of posts is narrowed to. `state` is live, removed, deleted or edited."""

    community: str = ""
    author: str = ""
    state: str = ""
    words: str = ""
    since: datetime | None = None
    least_score: int | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Version:
    """One text of a post while it was the current one. `reason` is posted, edited or returned."""

    number: int
    valid_from: datetime
    valid_to: datetime | None
    title: str
    content: str
    text_norm_hash: str
    reason: str


def communities(*, words: str = "", tier: str = "", state: str = "") -> QuerySet[CommunityCache]:
    """All communities; `state` is active, inactive, gap or overdue. Order them as the page wants."""
    found = CommunityCache.objects.all()
    if words:
        found = found.alias(folded=FOLDED).filter(folded__contains=words.lower())
    if tier:
        found = found.filter(quality_tier=tier)
    wanted = {
        "active": Q(is_active=True),
        "inactive": Q(is_active=False),
        "gap": Q(is_active=True, possible_gap=True),
        "overdue": Q(is_active=True, next_due__lt=clock.now() - OVERDUE_AFTER),
    }
    return found.filter(wanted[state]) if state in wanted else found


def community(name: str) -> CommunityCache:
    found = CommunityCache.objects.named(full_name(name))
    if found is None:
        raise Unknown(name)
    return found


def state_of(row: CommunityCache, now: datetime) -> str:
    """The word of the `community` badge vocabulary for this row."""
    if not row.is_active:
        return "inactive"
    if row.possible_gap:
        return "possible_gap"
    if row.next_due < now - OVERDUE_AFTER:
        return "overdue"
    return "quiet" if row.covered_from and not row.avg_valid_posts else "on_time"


def posts(wanted: PostFilter = PostFilter()) -> QuerySet[PostRaw]:  # noqa: B008 - frozen
    """Current texts. Order by -created_at; every filter is by an indexed column or narrows what one found."""
    found = PostRaw.objects.current().filter(source=SOURCE)
    if wanted.community:
        row = CommunityCache.objects.named(full_name(wanted.community))
        found = found.filter(subreddit=row.community_name if row else full_name(wanted.community))
    if wanted.author:
        found = found.filter(author=wanted.author)
    if wanted.words:
        found = found.alias(folded=Lower("title")).filter(folded__contains=wanted.words.lower())
    if since := bounded(wanted.since):
        found = found.filter(created_at__gte=since)
    if until := bounded(wanted.until):
        found = found.filter(created_at__lt=until)
    if wanted.least_score is not None:
        found = found.filter(score__gte=wanted.least_score)
    return found.filter(_STATES[wanted.state]) if wanted.state in _STATES else found


_STATES = {
    "live": Q(removed_by_category="", author_deleted=False),
    "removed": ~Q(removed_by_category=""),
    "deleted": Q(author_deleted=True),
    "edited": Q(version__gt=1),
}


def post(post_id: str) -> PostRaw:
    found = PostRaw.objects.current().of([post_id]).first()
    if found is None:
        raise Unknown(post_id)
    return found


def versions(post_id: str) -> list[Version]:
    """Every span, oldest first: a text that came back is there again. Of a post without end the newest."""
    known = PostSpan.objects.filter(source_post_id=post_id).select_related("post")
    spans = list(known.order_by("-version")[:MOST_VERSIONS])[::-1]
    seen: set[int] = set()
    found = []
    for span in spans:
        row = span.post
        reason = "posted" if span.version == 1 else "returned" if row.pk in seen else "edited"
        seen.add(row.pk)
        found.append(
            Version(span.version, span.valid_from, span.valid_to, row.title, row.content, row.text_norm_hash, reason)
        )
    return found


def same_text(row: PostRaw) -> QuerySet[PostRaw]:
    """Other posts with the very same title, text and link: reposts."""
    same = PostRaw.objects.current().filter(text_norm_hash=row.text_norm_hash)
    return same.exclude(source_post_id=row.source_post_id).order_by("created_at")


def newest(name: str, limit: int = 25) -> list[dict[str, Any]]:
    """The newest posts of a community from cache, hot or cold store; the read is counted."""
    return read_posts(community(name).community_name, limit=limit, now=clock.now())


def hours(count: int = 48) -> list[CrawlMetrics]:
    """The last hours that were measured, oldest first."""
    return list(CrawlMetrics.objects.order_by("-metric_date", "-metric_hour")[:count])[::-1]


def days(count: int = 30) -> list[CrawlDay]:
    return list(CrawlDay.objects.order_by("-metric_date")[:count])[::-1]


def load_pool(path: Path, *, actor: Any = None) -> dict[str, int]:
    return load_entries(read_pool(path), path.name, actor=actor)


@transaction.atomic
def load_entries(entries: Sequence[PoolEntry], file_name: str, *, actor: Any = None) -> dict[str, int]:
    """Add and change communities by name; none is removed. Gives added, updated, total."""
    now = clock.now()
    known = {row.name.lower(): row for row in CommunityPool.objects.all()}
    made = []
    for entry in entries:
        row = known.get(entry.name.lower())
        made.append(
            CommunityPool(
                name=row.name if row else entry.name, tier=entry.tier, categories=list(entry.categories),
                quality_score=entry.quality_score, is_active=entry.is_active, updated_at=now,
                created_at=row.created_at if row else now,
            )
        )  # fmt: skip
    rows.put_pool(made)
    rows.sync_pool(now)
    added = sum(entry.name.lower() not in known for entry in entries)
    audit.record("reddit.pool_loaded", actor=actor, subject=cut(file_name, 200), added=added, entries=len(entries))
    return {"added": added, "updated": len(entries) - added, "total": CommunityPool.objects.count()}


@transaction.atomic
def set_active(name: str, is_active: bool, *, actor: Any = None) -> CommunityCache:
    """Switch a community on or off. On again, it is due at once and its refusals are forgotten."""
    row = community(name)
    CommunityPool.objects.filter(name=row.community_name).update(is_active=is_active, updated_at=clock.now())
    row.is_active, row.inactive_reason = is_active, "" if is_active else rows.OUT_OF_POOL
    row.refusals_in_row, row.refused_since, row.updated_at = 0, None, clock.now()
    if is_active:
        row.next_due = clock.now()
    row.save(
        update_fields=["is_active", "inactive_reason", "refusals_in_row", "refused_since", "next_due", "updated_at"]
    )
    audit.record("reddit.switched", actor=actor, subject=row.community_name, is_active=is_active)
    return row


@transaction.atomic
def set_wish(name: str, wish: str, *, actor: Any = None) -> CommunityCache:
    """The operator's wish: high, medium or low."""
    if wish not in Wish.values:
        raise WrongValue("tier", _("Choose high, medium or low."))
    row = community(name)
    CommunityPool.objects.filter(name=row.community_name).update(tier=wish, updated_at=clock.now())
    rows.apply_assignments(rows.calculate_assignments(), clock.now())
    audit.record("reddit.wished", actor=actor, subject=row.community_name, tier=wish)
    return community(name)


def crawl_soon(*, request: HttpRequest | None = None) -> JobRun | None:
    """A run that visits whatever is due; None when somebody has asked for one already."""
    asked = JobRun.objects.live().filter(name=CRAWL).exclude(key__startswith=f"{CRAWL}@")
    if asked.exists():
        return None
    return _enqueue(CRAWL, {}, exclusive_name(CRAWL), request)


def visit_soon(name: str, *, request: HttpRequest | None = None) -> JobRun | None:
    """A run that visits this community now, due or not; None when one is waiting already."""
    row = community(name)
    waiting = JobRun.objects.live().filter(name=VISIT, exclusive=f"reddit:{row.community_name}").exists()
    if waiting:
        return None
    args = {"community": row.community_name}
    return _enqueue(VISIT, args, f"reddit:{row.community_name}", request)


@transaction.atomic
def _enqueue(name: str, args: dict[str, Any], exclusive: str, request: HttpRequest | None) -> JobRun | None:
    run = queue.enqueue(name, args, exclusive=exclusive, requested_by=getattr(request, "user", None))
    if run is not None:
        audit.record("job.started", subject=name, request=request, run=run.pk)
    return run


@transaction.atomic
def erase_posts(post_ids: Sequence[str] = (), *, author: str = "", actor: Any, reason: str) -> int:
    """Somebody asked for it: blank all versions of these posts, or of everything by an author. Gives how many posts."""
    if not post_ids and not author:
        raise WrongValue("post_ids", _("Name the posts or the author."))
    found = PostRaw.objects.current().filter(source=SOURCE, blanked_at=None)
    chosen = list(found.filter(author=author) if author else found.of(post_ids))
    blank_posts(chosen, clock.now(), actor=actor, reason=reason)
    return len(chosen)


def assignments() -> dict[str, list[str]]:
    """Names by tier as the averages have it now."""
    return rows.calculate_assignments()


def apply_tiers() -> int:
    return rows.apply_assignments(rows.calculate_assignments(), clock.now())
