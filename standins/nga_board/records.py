"""What the board consists of: people's posts with their versions, topics, and rows that are no topics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from standins.nga_board.wording import shown_name

FLOORS_PER_PAGE = 20
TOPICS_PER_PAGE = 35

NOTE, HIDDEN, HAS_NOTES, LOCKED, HAS_FILES = 1, 2, 4, 1024, 8192
DELETED = LOCKED | HIDDEN
COLLECTION, IN_COLLECTION, ANONYMOUS, BOARD_ROW, OPENING = 32768, 65536, 262144, 2097152, 33554432
NEWEST_FIRST = 262144


@dataclass(frozen=True)
class Attachment:
    path: str
    kind: str = "img"
    name: str = "image.png"
    size: int = 118


@dataclass(frozen=True)
class Content:
    """One version of a post. `source` is what the site keeps and gives out."""

    source: str
    since: int
    edited_at: int | None = None
    edited_by: str = "0 0"


@dataclass
class Post:
    pid: int
    lou: int
    author: str
    uid: int
    posted_at: int
    content: Content
    subject: str = ""
    token: str = ""
    type: int = 0
    parent: int | None = None
    """For a note: the post it hangs under; 0 is the opening post."""
    reply_to: int | None = None
    attachments: tuple[Attachment, ...] = ()
    score: int = 0
    is_absent: bool = False
    is_blank: bool = False
    """Deleted, and the answer no longer carries its text."""

    @property
    def shown_author(self) -> str:
        return shown_name(self.token) if self.token else self.author

    @property
    def is_deleted(self) -> bool:
        return self.type & DELETED == DELETED

    @property
    def is_folded(self) -> bool:
        return bool(self.type & HIDDEN) and not self.is_deleted

    @property
    def source(self) -> str:
        return "" if self.is_blank else self.content.source

    def rewrite(self, source: str, now: int, by: str = "0 0") -> None:
        self.content = Content(source, now, now, by)


@dataclass
class Topic:
    tid: int
    fid: int
    title: str
    posted_at: int
    posts: dict[int, Post] = field(default_factory=dict)
    """By floor; a floor above the last one written by hand is filler, made when it is looked at."""
    filler: int = 0
    last_post_at: int = 0
    modified_at: int = 0
    last_poster: str = ""
    type: int = 0
    display: int = 0
    is_digest: bool = False
    is_locked: bool = False
    is_pinned: bool = False
    is_recommended: bool = False
    is_listed: bool = True
    refusal: str = ""
    poll: str = ""
    also_on: frozenset[int] = frozenset()
    """Other boards whose lists show it."""
    parent: tuple[int, int, str] | None = None
    """Board, collection, name: what a row inside a collection or of a sub-board carries."""
    moved_by: int = 0
    """Seconds by which its place in lists is off its time."""

    @property
    def total(self) -> int:
        """Floors that were ever written; removals do not count down."""
        return max(len(self.posts), self.filler + 1)

    @property
    def replies(self) -> int:
        return self.total - 1

    @property
    def pages(self) -> int:
        return -(-self.total // FLOORS_PER_PAGE)

    @property
    def is_newest_first(self) -> bool:
        return bool(self.display & NEWEST_FIRST)

    @property
    def opening(self) -> Post:
        return self.posts[0]

    def floor(self, lou: int) -> Post:
        post = self.posts.get(lou)
        if post is None:
            post = Post(
                pid=self.tid * 100_000 + lou,
                lou=lou,
                author=f"路人{lou % 97}",
                uid=900_000 + lou % 97,
                posted_at=min(self.posted_at + lou, self.last_post_at),
                content=Content(f"第{lou}楼", self.posted_at + lou),
            )
        return post

    def by_pid(self, pid: int) -> Post:
        for post in self.posts.values():
            if post.pid == pid:
                return post
        tid, lou = divmod(pid, 100_000)
        if tid == self.tid and 0 < lou <= self.filler:
            return self.posts.setdefault(lou, self.floor(lou))
        raise KeyError(f"no post {pid} in topic {self.tid}")

    def notes_of(self, pid: int) -> list[Post]:
        return [post for post in self.posts.values() if post.parent == pid and post.type & NOTE]

    def floors_of_page(self, page: int) -> range:
        """Pages are cut by floor number, whatever is left of them; some topics count from the end."""
        first = (page - 1) * FLOORS_PER_PAGE
        if not self.is_newest_first:
            return range(first, min(first + FLOORS_PER_PAGE, self.total))
        return range(max(0, self.total - first - FLOORS_PER_PAGE), max(0, self.total - first))

    def page_of(self, lou: int) -> int:
        return ((self.total - 1 - lou) if self.is_newest_first else lou) // FLOORS_PER_PAGE + 1

    def shown_on(self, page: int) -> list[Post]:
        floors = [self.floor(lou) for lou in self.floors_of_page(page)]
        if self.is_newest_first and page == 1 and 0 not in self.floors_of_page(page):
            floors.append(self.opening)
        return sorted((post for post in floors if not post.is_absent), key=lambda post: post.lou)


@dataclass(frozen=True)
class Row:
    """One row of a list: a topic, a mirror of one, a board, or a placeholder for what a guest may not see."""

    kind: str
    tid: int
    fid: int
    at: int
    real_tid: int = 0
    title: str = ""
    error: str = ""
    posted_at: int = 0
    is_extra: bool = False
    """Not one of the 35 that the page counts."""

    def as_extra(self) -> Row:
        return replace(self, is_extra=True)
