"""Comments: the switch of a community, one comment with its versions, one thread as a tree, what a user has read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Sum

from watchbook.base import clock
from watchbook.base.store.rows import upsert
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.systems.reddit import options
from watchbook.systems.reddit.actions import MOST_VERSIONS, Unknown, Version, community
from watchbook.systems.reddit.models import Comment, CommentListing, CommunityCache, PostRaw, ThreadLook
from watchbook.systems.reddit.schedule import comment_requests

# Comments of one thread that the tree is made of; Reddit itself shows fewer on one page.
MOST_IN_THREAD = 20_000
# Comments of one page of a thread, and how deep they are nested there.
PER_PAGE = 200
MAX_DEPTH = 8
ESTIMATE_DAYS = 7


@transaction.atomic
def set_comments(name: str, is_on: bool | None, *, actor: Any = None) -> CommunityCache:
    """Switch the comments of a community on or off; None: as REDDIT_COMMENTS says. Stored comments are kept."""
    row, now = community(name), clock.now()
    listing, _ = CommentListing.objects.get_or_create(community=row, defaults={"next_due": now, "updated_at": now})
    listing.is_on, listing.updated_at = is_on, now
    listing.next_due = min(listing.next_due, now)
    listing.save(update_fields=["is_on", "updated_at", "next_due"])
    audit.record("reddit.comments", actor=actor, subject=row.community_name, is_on=is_on)
    return row


def listing_of(row: CommunityCache) -> CommentListing | None:
    """Return how far the comments of a community were read, or None if they were never on."""
    return CommentListing.objects.filter(community=row).first()


def estimated_requests(row: CommunityCache) -> int:
    """Return the requests per day that comments would cost, from the counts of the posts of the last week."""
    since = clock.now() - timedelta(days=ESTIMATE_DAYS)
    posts = PostRaw.objects.current().filter(subreddit=row.community_name, created_at__gte=since)
    written = posts.aggregate(all=Sum("num_comments"))["all"] or 0
    return comment_requests(written / ESTIMATE_DAYS, 24 / max(row.crawl_frequency_hours, 1))


def is_crawled(listing: CommentListing | None) -> bool:
    """Return True if comments are on for this community."""
    chosen = listing.is_on if listing else None
    return options.COMMENTS.value if chosen is None else chosen


def comment(comment_id: str) -> Comment:
    found = Comment.objects.of([comment_id]).first()
    if found is None:
        raise Unknown(comment_id)
    return found


def versions(row: Comment) -> list[Version]:
    """Return up to 500 newest versions, oldest first; the last one is the current text."""
    earlier = list(row.versions.order_by("-version")[: MOST_VERSIONS - 1])[::-1]
    title, found, seen = row.thread_title, [], set()
    for one in earlier:
        reason = "posted" if one.version == 1 else "returned" if one.text_norm_hash in seen else "edited"
        seen.add(one.text_norm_hash)
        found.append(Version(one.version, one.valid_from, one.valid_to, title, one.content, one.text_norm_hash, reason))
    reason = "posted" if row.version == 1 else "returned" if row.text_norm_hash in seen else "edited"
    return [*found, Version(row.version, row.valid_from, None, title, row.content, row.text_norm_hash, reason)]


@dataclass
class Node:
    """A comment in the tree of its thread."""

    comment_id: str
    parent_id: str
    first_seen_at: datetime
    children: list[Node] = field(default_factory=list)
    # This comment and all below it, and how many of them the user has not seen.
    size: int = 1
    new: int = 0
    is_new: bool = False
    # The comment that it answers is not stored.
    is_orphan: bool = False


@dataclass(frozen=True)
class Thread:
    """A post, if it is stored, and the tree of its comments, oldest first."""

    post_id: str
    post: PostRaw | None
    title: str
    subreddit: str
    roots: Sequence[Node]
    nodes: dict[str, Node]
    looked_at: datetime | None

    @property
    def count(self) -> int:
        return len(self.nodes)

    @property
    def new(self) -> int:
        return sum(root.new for root in self.roots)


def thread(post_id: str, user: User | None = None) -> Thread:
    """Return one thread. Three queries, however many comments there are."""
    post = PostRaw.objects.current().of([post_id]).first()
    found = Comment.objects.filter(post_id=post_id).order_by("created_at", "id")
    columns = ("comment_id", "parent_id", "first_seen_at", "thread_title", "subreddit", "created_at")
    # Reddit's times are whole seconds; IDs grow, and a longer one is later.
    rows = sorted(found.values_list(*columns)[:MOST_IN_THREAD], key=lambda row: (row[5], len(row[0]), row[0]))
    if post is None and not rows:
        raise Unknown(post_id)
    looked_at = _looked_at(user, post_id)
    nodes = {row[0]: Node(row[0], row[1], row[2], is_new=looked_at is not None and row[2] > looked_at) for row in rows}
    title = post.title if post else next((row[3] for row in rows if row[3]), "")
    return Thread(post_id, post, title, post.subreddit if post else rows[0][4], _tree(nodes, post_id), nodes, looked_at)


def _tree(nodes: dict[str, Node], post_id: str) -> list[Node]:
    """Hang every comment below its parent. One whose parent is not stored stands at the top."""
    roots = []
    for node in nodes.values():
        parent = nodes.get(node.parent_id.removeprefix("t1_")) if node.parent_id.startswith("t1_") else None
        if parent is None:
            node.is_orphan = node.parent_id != f"t3_{post_id}"
            roots.append(node)
        else:
            parent.children.append(node)
    # Level by level; backwards, what is below a comment is added up before it.
    ordered = list(roots)
    for node in ordered:
        ordered += node.children
    for node in reversed(ordered):
        node.size = 1 + sum(child.size for child in node.children)
        node.new = node.is_new + sum(child.new for child in node.children)
    return roots


def pages(roots: Sequence[Node]) -> list[list[Node]]:
    """Split a thread into pages of whole branches with about 200 comments."""
    found: list[list[Node]] = [[]]
    count = 0
    for root in roots:
        if found[-1] and count + root.size > PER_PAGE:
            found.append([])
            count = 0
        found[-1].append(root)
        count += root.size
    return found


@dataclass(frozen=True)
class ShownNode:
    """A node of a page. `hidden` are answers that are too deep or too many for it."""

    node: Node
    row: Comment
    depth: int
    children: Sequence[ShownNode]
    hidden: int


def shown(roots: Sequence[Node]) -> list[ShownNode]:
    """Return the comments of a page with their texts. One query."""
    chosen = _chosen(roots)
    rows = {row.comment_id: row for row in Comment.objects.of(chosen)}
    below: dict[str, list[ShownNode]] = defaultdict(list)
    tops: list[ShownNode] = []
    # Deepest first: what is below a comment is made before it.
    for comment_id, (node, depth, above) in reversed(chosen.items()):
        row = rows.get(comment_id)
        if row is None:
            continue
        children = below.pop(comment_id, [])[::-1]
        made = ShownNode(node, row, depth, children, node.size - 1 - sum(child.node.size for child in children))
        (tops if above is None else below[above]).append(made)
    return tops[::-1]


def _chosen(roots: Sequence[Node]) -> dict[str, tuple[Node, int, str | None]]:
    """Return the comments of a page in the order of reading, with depth and parent."""
    found: dict[str, tuple[Node, int, str | None]] = {}
    waiting: list[tuple[Node, int, str | None]] = [(root, 0, None) for root in reversed(roots)]
    while waiting and len(found) < PER_PAGE:
        node, depth, above = waiting.pop()
        found[node.comment_id] = (node, depth, above)
        if depth < MAX_DEPTH:
            waiting += [(child, depth + 1, node.comment_id) for child in reversed(node.children)]
    return found


def branch_with(found: Thread, comment_id: str) -> Node | None:
    """Return the branch to show for one comment: from as far above it as a page is deep."""
    node = found.nodes.get(comment_id)
    for _ in range(MAX_DEPTH // 2):
        above = found.nodes.get(node.parent_id.removeprefix("t1_")) if node else None
        if above is None or above.size > PER_PAGE:
            break
        node = above
    return node


def _looked_at(user: User | None, post_id: str) -> datetime | None:
    looks = ThreadLook.objects.filter(user=user, post_id=post_id) if user and user.pk else ThreadLook.objects.none()
    return looks.values_list("looked_at", flat=True).first()


def look(user: User, post_id: str, at: datetime) -> None:
    """Note when the user opened a thread; a moment in the future counts as now."""
    if PostRaw.objects.of([post_id]).exists() or Comment.objects.filter(post_id=post_id).exists():
        row = ThreadLook(user=user, post_id=post_id, looked_at=min(at, clock.now()))
        upsert(ThreadLook, [row], unique=["user", "post_id"], update=["looked_at"])
