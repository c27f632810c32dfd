"""Actions on communities and posts, shared by pages, API and commands.

Reading: `communities`, `community`, `posts`, `post`, `versions`, `newest`, `hours`, `days`.
Changing (operators): `load_pool`, `load_file`, `load_entries`, `add_community`, `remove_community`, `set_active`,
`set_priority`, `set_tags`, `crawl_community_soon`, `crawl_due_soon`, `erase_posts`. Comments are in `comments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.base.text import cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.queue import exclusive_name
from watchbook.core.registry import Step
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import client
from watchbook.systems.reddit.fetch.errors import RedditError
from watchbook.systems.reddit.jobs.crawl import full_name
from watchbook.systems.reddit.models import (
    Comment,
    CommunityCache,
    CommunityPool,
    CommunityPriority,
    CrawlDay,
    CrawlMetrics,
    PostPoint,
    PostRaw,
    PostSpan,
)
from watchbook.systems.reddit.models.posts import SOURCE, PostRawQuerySet
from watchbook.systems.reddit.pool import MAX_TAG_LENGTH, MAX_TAGS, PoolEntry, PoolFile, community_name, read_pool
from watchbook.systems.reddit.store import communities as rows
from watchbook.systems.reddit.store import hot
from watchbook.systems.reddit.store.comments import erase_comments
from watchbook.systems.reddit.store.hot import read_posts

CRAWL_DUE, CRAWL_ONE = "reddit.incremental", "reddit.community"
# Limit for posts that a program edits all the time.
MOST_VERSIONS = 500
LATE_AFTER = timedelta(hours=1)
# Communities that are listed for one author.
MOST_HOMES = 50


class Unknown(Exception):
    """Raised for a community or post that does not exist."""


@dataclass(frozen=True)
class Version:
    """One version of a post or comment. `reason` is posted, edited or returned."""

    number: int
    valid_from: datetime
    valid_to: datetime | None
    title: str
    content: str
    text_norm_hash: str
    reason: str


def community_state(state: str) -> Q:
    """Return the condition of a state: active, inactive, gap or overdue."""
    return {
        "active": Q(is_active=True),
        "inactive": Q(is_active=False),
        "gap": Q(is_active=True) & (Q(possible_gap=True) | Q(comment_listing__possible_gap=True)),
        "overdue": Q(is_active=True, next_due__lt=clock.now() - LATE_AFTER),
    }[state]


def community(name: str) -> CommunityCache:
    found = CommunityCache.objects.named(full_name(name))
    if found is None:
        raise Unknown(name)
    return found


def state_of(row: CommunityCache, now: datetime) -> str:
    """Return the badge state of a community."""
    if not row.is_active:
        return "inactive"
    if row.possible_gap:
        return "possible_gap"
    if row.next_due < now - LATE_AFTER:
        return "overdue"
    return "quiet" if row.covered_from and not row.avg_valid_posts else "on_time"


def posts() -> PostRawQuerySet:
    """Return current texts, not sorted. Sort them by -created_at, which has an index."""
    return PostRaw.objects.current().filter(source=SOURCE)


# Points per hour, as a multiple of what is usual in the community, from which a post counts as rising.
RISING_FROM = 2.0
STATES = {
    "live": Q(removed_by_category="", author_deleted=False),
    "removed": ~Q(removed_by_category=""),
    "deleted": Q(author_deleted=True),
    "edited": Q(version__gt=1),
}


def by_author(found: PostRawQuerySet, author: str) -> PostRawQuerySet:
    return found.alias(author_folded=Lower("author")).filter(author_folded=author_name(author))


def author_name(text: str) -> str:
    """The folded name of `name`, `u/name` and `/u/name`."""
    return text.strip().lower().strip("/").removeprefix("u/")


@dataclass(frozen=True)
class AuthorSummary:
    """What is stored of one author. `communities` are names with numbers of posts, most first."""

    author: str
    posts: int
    removed: int
    first_at: datetime
    last_at: datetime
    communities: list[tuple[str, int]]


def author(name: str) -> AuthorSummary:
    """Return the summary of an author. Names of Reddit ignore case; the name as Reddit writes it is found fastest."""
    asked = name.strip().strip("/").removeprefix("u/")
    found = posts().filter(author=asked) if asked else posts().none()
    if asked and not found.exists():
        written = by_author(posts(), asked).values_list("author", flat=True).first()
        found = posts().filter(author=written) if written else posts().none()
    gone = Q(author_deleted=True) | ~Q(removed_by_category="")
    sums = found.aggregate(
        posts=Count("pk"), removed=Count("pk", filter=gone), first_at=Min("created_at"), last_at=Max("created_at")
    )
    if not sums["posts"]:
        raise Unknown(name)
    homes = found.values_list("subreddit").annotate(count=Count("pk")).order_by("-count", "subreddit")
    written = found.values_list("author", flat=True)[0]
    return AuthorSummary(written, communities=list(homes[:MOST_HOMES]), **sums)


def post(post_id: str) -> PostRaw:
    found = PostRaw.objects.current().of([post_id]).first()
    if found is None:
        raise Unknown(post_id)
    return found


def versions(post_id: str) -> list[Version]:
    """Return up to 500 newest versions, oldest first. A restored text appears again."""
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


def points(post_id: str) -> list[PostPoint]:
    """Return score and comments at each check that stored them, oldest first."""
    return list(PostPoint.objects.filter(source_post_id=post_id).order_by("at")[:MOST_VERSIONS])


def same_text(row: PostRaw) -> QuerySet[PostRaw]:
    """Return other posts with the same title, text and link."""
    same = PostRaw.objects.current().filter(text_norm_hash=row.text_norm_hash)
    return same.exclude(source_post_id=row.source_post_id).order_by("created_at")


def newest(name: str, limit: int = 25) -> list[dict[str, Any]]:
    """Return the newest posts of a community from cache, hot store or full store, and count the read."""
    return read_posts(community(name).community_name, limit=limit, now=clock.now())


def hours(count: int = 48) -> list[CrawlMetrics]:
    """Return the last hours with data, oldest first."""
    return list(CrawlMetrics.objects.order_by("-metric_date", "-metric_hour")[:count])[::-1]


def days(count: int = 30) -> list[CrawlDay]:
    return list(CrawlDay.objects.order_by("-metric_date")[:count])[::-1]


def load_pool(path: Path, *, actor: Any = None) -> dict[str, Any]:
    return load_file(read_pool(path), path.name, actor=actor)


def load_file(file: PoolFile, file_name: str, *, actor: Any = None) -> dict[str, Any]:
    """Import a file. Return the counts, and what was not imported if there is something."""
    return {**load_entries(file.entries, file_name, actor=actor), **file.report()}


@transaction.atomic
def load_entries(entries: Sequence[PoolEntry], file_name: str, *, actor: Any = None) -> dict[str, int]:
    """Add and update communities by name. Return the counts added, updated and total."""
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


def add_community(
    text: str, *, priority: str = CommunityPriority.MEDIUM, tags: Sequence[str] = (), actor: User | None = None
) -> CommunityCache:
    """Add one community by name or address, and queue its first crawl if Reddit access is set up."""
    name = community_name(text)
    if not name:
        raise InvalidInput("name", _("%(name)s is not a community name.") % {"name": repr(text.strip()[:60])})
    if priority not in CommunityPriority.values:
        raise InvalidInput("tier", _("Choose high, medium or low."))
    entry = PoolEntry(name, tier=priority, categories=checked_tags(tags))
    is_listed = CommunityPool.objects.alias(folded=Lower("name")).filter(folded=name.lower()).exists()
    if is_listed or CommunityCache.objects.named(name) is not None:
        raise InvalidInput("name", _("This community is already in the list."), "exists", is_conflict=True)
    with transaction.atomic():
        load_entries([entry], name, actor=actor)
        if options.is_live():
            crawl_community_soon(name)
    return community(name)


@transaction.atomic
def remove_community(name: str, *, actor: User | None = None) -> int:
    """Take a community from the list. Its stored posts stay; return their number."""
    row = community(name)
    posts_kept = posts().filter(subreddit=row.community_name).count()
    CommunityPool.objects.filter(name=row.community_name).delete()
    row.delete()
    audit.record("reddit.removed", actor=actor, subject=row.community_name, posts_kept=posts_kept)
    return posts_kept


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Trim the tags and drop repeated ones. Too many or too long ones are refused."""
    found: dict[str, str] = {}
    for tag in (" ".join(one.split()) for one in tags):
        if tag:
            found.setdefault(tag.casefold(), tag)
    if len(found) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in found.values()):
        words = _("At most %(n)s tags of %(length)s characters are allowed.")
        raise InvalidInput("categories", words % {"n": MAX_TAGS, "length": MAX_TAG_LENGTH})
    return tuple(found.values())


@transaction.atomic
def set_tags(name: str, tags: Sequence[str], *, actor: User | None = None) -> CommunityCache:
    row, kept = community(name), checked_tags(tags)
    _change_listed(row, "categories", categories=list(kept))
    audit.record("reddit.tagged", actor=actor, subject=row.community_name, categories=list(kept))
    return row


def _change_listed(row: CommunityCache, field: str, **values: Any) -> None:
    """Tags and priority belong to the community list; a community that left it has neither."""
    if not CommunityPool.objects.filter(name=row.community_name).update(**values, updated_at=clock.now()):
        words = _("%(name)s is not in the community list. Add the community first.") % {"name": row.community_name}
        raise InvalidInput(field, words, "not_listed")


@transaction.atomic
def set_active(name: str, is_active: bool, *, actor: Any = None) -> CommunityCache:
    """Enable or disable a community. An enabled one is due now and its refusal count is reset."""
    row = community(name)
    CommunityPool.objects.filter(name=row.community_name).update(is_active=is_active, updated_at=clock.now())
    row.is_active, row.inactive_reason = is_active, "" if is_active else rows.DISABLED
    row.refusals_in_row, row.refused_since, row.updated_at = 0, None, clock.now()
    if is_active:
        row.next_due = clock.now()
    row.save(
        update_fields=["is_active", "inactive_reason", "refusals_in_row", "refused_since", "next_due", "updated_at"]
    )
    audit.record("reddit.switched", actor=actor, subject=row.community_name, is_active=is_active)
    return row


@transaction.atomic
def set_priority(name: str, priority: str, *, actor: Any = None) -> CommunityCache:
    """Set the priority: high, medium or low."""
    if priority not in CommunityPriority.values:
        raise InvalidInput("tier", _("Choose high, medium or low."))
    row = community(name)
    _change_listed(row, "tier", tier=priority)
    rows.apply_assignments(rows.calculate_assignments(), clock.now())
    audit.record("reddit.wished", actor=actor, subject=row.community_name, tier=priority)
    return community(name)


def crawl_due_soon(*, request: HttpRequest | None = None) -> JobRun | None:
    """Queue a crawl of all due communities. Return None if one is queued already."""
    asked = JobRun.objects.live().filter(name=CRAWL_DUE).exclude(key__startswith=f"{CRAWL_DUE}@")
    if asked.exists():
        return None
    return _enqueue(CRAWL_DUE, {}, exclusive_name(CRAWL_DUE), request)


def crawl_community_soon(name: str, *, request: HttpRequest | None = None) -> JobRun | None:
    """Queue a crawl of one community. Return None if one is queued already."""
    row = community(name)
    waiting = JobRun.objects.live().filter(name=CRAWL_ONE, exclusive=f"reddit:{row.community_name}").exists()
    if waiting:
        return None
    args = {"community": row.community_name}
    return _enqueue(CRAWL_ONE, args, f"reddit:{row.community_name}", request)


@transaction.atomic
def _enqueue(name: str, args: dict[str, Any], exclusive: str, request: HttpRequest | None) -> JobRun | None:
    run = queue.enqueue(name, args, exclusive=exclusive, requested_by=getattr(request, "user", None))
    if run is not None:
        audit.record("job.started", subject=name, request=request, run=run.pk)
    return run


@transaction.atomic
def erase_posts(post_ids: Sequence[str] = (), *, author: str = "", actor: Any, reason: str) -> int:
    """Erase all versions of these posts, or of all posts and comments by an author. Return the number of both."""
    if not post_ids and not author:
        raise InvalidInput("post_ids", _("Give post IDs or an author."))
    found = PostRaw.objects.current().filter(source=SOURCE, blanked_at=None)
    chosen = list(by_author(found, author) if author else found.of(post_ids))
    hot.erase_posts(chosen, clock.now(), actor=actor, reason=reason)
    written = Comment.objects.filter(blanked_at=None) if author else Comment.objects.none()
    own = list(written.alias(folded=Lower("author")).filter(folded=author_name(author)))
    erase_comments(own, clock.now(), actor=actor, reason=reason)
    return len(chosen) + len(own)


def assignments() -> dict[str, list[str]]:
    """Return community names by tier, from the current averages."""
    return rows.calculate_assignments()


def apply_tiers() -> int:
    return rows.apply_assignments(rows.calculate_assignments(), clock.now())


def try_access(_user: User) -> Iterator[Step]:
    """Ask Reddit for a token with the saved ID and secret, whatever token is held. For the settings page."""
    if not (options.CLIENT_ID.value and options.CLIENT_SECRET.value):
        yield Step(False, _("Client ID and client secret are not set."))
        return
    try:
        _token, seconds = client.ask_new_token()
    except RedditError as error:
        yield Step(False, _("Reddit did not sign in this client: %(reason)s") % {"reason": error})
        return
    yield Step(True, _("Reddit signed in this client. The token is valid for %(n)d minutes.") % {"n": seconds // 60})
