"""What the stand-in Reddit truly holds: communities, posts, comments, and everything that ever happened to them."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

CEILING = 1000
FIRST_ID = 36**5 + 12345
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

OPEN, PRIVATE, BANNED, QUARANTINED, FORBIDDEN = "open", "private", "banned", "quarantined", "forbidden"
LIVE, FILTERED, REMOVED, DELETED = "live", "filtered", "removed", "deleted"


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = DIGITS[digit] + text
    return text or "0"


@dataclass
class Thing:
    """A post or a comment. `shown` are the texts that were served, one for each change: what a reader who missed no
    answer must know."""

    id: str
    community: str
    text: str
    author: str
    created_at: datetime
    state: str = LIVE
    removed_by: str = ""
    edited_at: datetime | None = None
    # When it entered its listing; None while a filter holds it back.
    listed_at: datetime | None = None
    # The account of the author is gone; what it wrote stays.
    has_account: bool = True
    base_score: int = 1
    history: list[tuple[datetime, str, str]] = field(default_factory=list)
    shown: list[tuple[datetime, str]] = field(default_factory=list)
    first_shown_at: datetime | None = None
    # Grows with every change: a rendered form of an older revision is stale.
    revision: int = 0

    prefix: ClassVar[str] = "t3_"

    @property
    def name(self) -> str:
        return f"{self.prefix}{self.id}"

    @property
    def is_visible(self) -> bool:
        return self.state == LIVE

    def texts(self) -> list[str]:
        """Every text it ever had, in order; a text that comes back is there again."""
        return [text for _, kind, text in self.history if kind in ("posted", "edited")]


@dataclass
class Post(Thing):
    title: str = ""
    link: str = ""
    is_stickied: bool = False
    # Fields of Reddit that are served as they are: crossposts, galleries, polls.
    extra: dict[str, Any] = field(default_factory=dict)
    num_comments: int = 0


@dataclass
class Comment(Thing):
    """`parent` is the name of a comment or of the post."""

    post: str = ""
    parent: str = ""

    prefix: ClassVar[str] = "t1_"


@dataclass
class Community:
    """`order` are ids as they entered `new`, oldest first; the list remembers the last thousand and no more.

    `comment_order` is the same for the listing of the newest comments.
    """

    name: str
    status: str = OPEN
    subscribers: int = 1000
    order: deque[str] = field(default_factory=lambda: deque(maxlen=CEILING))
    posts: list[str] = field(default_factory=list)
    comment_order: deque[str] = field(default_factory=lambda: deque(maxlen=CEILING))


class World:
    """Thread-safe. `now` is real unless held, so that a test with a clock of its own and the ledger agree."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.communities: dict[str, Community] = {}
        self.posts: dict[str, Post] = {}
        self.comments: dict[str, Comment] = {}
        self.held_at: datetime | None = None
        self._ids = itertools.count(FIRST_ID)

    def now(self) -> datetime:
        return self.held_at or datetime.now(UTC)

    def hold_time(self, moment: datetime | str | None) -> None:
        self.held_at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment

    def add_community(self, name: str, *, subscribers: int = 1000, status: str = OPEN) -> Community:
        with self.lock:
            return self.communities.setdefault(name.lower(), Community(name, status, subscribers))

    def community(self, name: str) -> Community | None:
        return self.communities.get(name.lower())

    def set_status(self, name: str, status: str) -> None:
        """open, private, banned, quarantined or forbidden."""
        with self.lock:
            self.communities[name.lower()].status = status

    def post(
        self, name: str, title: str, text: str = "", *, link: str = "", author: str = "made-up-reader",
        at: datetime | None = None, filtered: bool = False, score: int = 1, comments: int = 0,
        extra: dict[str, Any] | None = None,
    ) -> str:  # fmt: skip
        """Gives the id. A filtered one is listed when it is approved, at the top, with its old time."""
        with self.lock:
            home = self.communities[name.lower()]
            now = self.now()
            # A whole second, as Reddit has it: ties are common.
            moment = (at or now).replace(microsecond=0)
            made = Post(base36(next(self._ids)), home.name, text, author, moment, title=title, link=link)
            made.base_score, made.num_comments, made.extra = score, comments, extra or {}
            made.history.append((now, "posted", text))
            self.posts[made.id] = made
            home.posts.append(made.id)
            if filtered:
                made.state, made.removed_by = FILTERED, "automod_filtered"
            else:
                self._list(home, made)
            return made.id

    def comment(
        self, post_id: str, text: str, *, parent: str = "", author: str = "made-up-reader", filtered: bool = False,
        score: int = 1,
    ) -> str:  # fmt: skip
        """Gives the id of a comment on a post, or on the comment `parent` of it."""
        with self.lock:
            post, now = self.posts[post_id], self.now()
            home = self.communities[post.community.lower()]
            above = self.comments[parent].name if parent else post.name
            made = Comment(
                base36(next(self._ids)), home.name, text, author, now.replace(microsecond=0), post=post_id, parent=above
            )
            made.base_score = score
            made.history.append((now, "posted", text))
            self.comments[made.id] = made
            post.num_comments += 1
            post.revision += 1
            if filtered:
                made.state, made.removed_by = FILTERED, "automod_filtered"
            else:
                self._list(home, made)
            return made.id

    def approve(self, post_id: str) -> None:
        """A filter's post enters the list now; one that was listed before returns to its old place."""
        with self.lock:
            made = self._touch(post_id, "approved")
            made.state, made.removed_by = LIVE, ""
            if made.listed_at is None:
                self._list(self.communities[made.community.lower()], made)

    restore = approve

    def edit(self, post_id: str, text: str, *, ninja: bool = False) -> None:
        """A ninja edit, within the first minutes, leaves no mark but the text itself."""
        with self.lock:
            made = self._touch(post_id, "edited", text)
            made.text = text
            if not ninja:
                made.edited_at = self.now()

    def remove(self, post_id: str, by: str = "moderator") -> None:
        with self.lock:
            made = self._touch(post_id, "removed", by)
            made.state, made.removed_by = REMOVED, by

    def delete(self, post_id: str) -> None:
        """By its author."""
        with self.lock:
            made = self._touch(post_id, "deleted")
            made.state, made.removed_by = DELETED, "deleted"

    def delete_account(self, author: str) -> None:
        """The author deletes the account, not the posts: their name becomes [deleted]."""
        with self.lock:
            for made in (*self.posts.values(), *self.comments.values()):
                if made.author == author:
                    self._touch(made.id, "account deleted").has_account = False

    def vote(self, post_id: str, score: int, comments: int | None = None) -> None:
        with self.lock:
            self.thing(post_id).base_score = score
            if comments is not None:
                self.posts[post_id].num_comments = comments

    def sticky(self, post_id: str, on: bool = True) -> None:
        with self.lock:
            self._touch(post_id, "stickied")
            self.posts[post_id].is_stickied = on

    def thing(self, thing_id: str) -> Thing:
        """A post or a comment: their ids are counted together."""
        return self.comments[thing_id] if thing_id in self.comments else self.posts[thing_id]

    def listing(self, home: Community, sort: str, since: datetime | None) -> list[Post]:
        """What a reader may see, in the order of the sort, a thousand at most."""
        with self.lock:
            if sort == "new":
                return [made for made in map(self.posts.__getitem__, reversed(home.order)) if made.is_visible]
            if sort == "top":
                pool = [self.posts[post_id] for post_id in home.posts]
                seen = [made for made in pool if made.is_visible and (since is None or made.created_at >= since)]
            else:
                seen = [made for made in map(self.posts.__getitem__, home.order) if made.is_visible]
            seen.sort(key=lambda made: (-self.score(made), made.id))
            return seen[:CEILING]

    def newest_comments(self, home: Community) -> list[Comment]:
        """The listing of the newest comments, a thousand at most."""
        with self.lock:
            return [made for made in map(self.comments.__getitem__, reversed(home.comment_order)) if made.is_visible]

    def score(self, made: Thing) -> int:
        """Grows for a day and then stays; never asked for by an event."""
        hours = min(max((self.now() - made.created_at).total_seconds() / 3600, 0.0), 24.0)
        return made.base_score + int(made.base_score * hours * 0.7)

    def show(self, made: Thing) -> None:
        """This is just being served."""
        now = self.now()
        if made.first_shown_at is None and made.is_visible:
            made.first_shown_at = now
        if made.is_visible and (not made.shown or made.shown[-1][1] != made.text):
            made.shown.append((now, made.text))

    def listed(self) -> Iterator[Post]:
        """Every post that ever was in a `new` listing."""
        with self.lock:
            return iter([made for made in self.posts.values() if made.listed_at is not None])

    def listed_comments(self) -> Iterator[Comment]:
        """Every comment that ever was in a listing."""
        with self.lock:
            return iter([made for made in self.comments.values() if made.listed_at is not None])

    def as_json(self) -> dict[str, Any]:
        with self.lock:
            return {
                "communities": {
                    home.name: {"status": home.status, "posts": len(home.posts), "listed": len(home.order)}
                    for home in self.communities.values()
                },
                "posts": {
                    made.id: {
                        "community": made.community,
                        "state": made.state,
                        "created_at": made.created_at.isoformat(),
                        "listed_at": made.listed_at.isoformat() if made.listed_at else None,
                        "texts": made.texts(),
                    }
                    for made in self.posts.values()
                },
                "comments": {
                    made.id: {
                        "community": made.community,
                        "post": made.post,
                        "parent": made.parent,
                        "state": made.state,
                        "created_at": made.created_at.isoformat(),
                        "texts": made.texts(),
                    }
                    for made in self.comments.values()
                },
            }

    def _list(self, home: Community, made: Thing) -> None:
        made.listed_at = self.now()
        (home.comment_order if isinstance(made, Comment) else home.order).append(made.id)

    def _touch(self, thing_id: str, kind: str, text: str = "") -> Thing:
        made = self.thing(thing_id)
        made.revision += 1
        made.history.append((self.now(), kind, text))
        return made
