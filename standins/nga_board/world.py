"""The board as it truly is, and everything that people and moderators do to it. Time is the world's own."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from standins.nga_board.records import (
    ANONYMOUS,
    COLLECTION,
    DELETED,
    HAS_FILES,
    HAS_NOTES,
    HIDDEN,
    IN_COLLECTION,
    LOCKED,
    NEWEST_FIRST,
    NOTE,
    Attachment,
    Content,
    Post,
    Row,
    Topic,
)
from standins.nga_board.wording import token_of, written

FIRST_MOMENT = datetime(2026, 6, 1, 4, 0, tzinfo=UTC)
GONE = "找不到主题"


class World:
    """Posts are named by topic and post id; 0 is the opening post."""

    def __init__(self, fid: int = 7, name: str = "艾泽拉斯议事厅") -> None:
        self.fid = fid
        self.names = {fid: name, -7: "大漩涡", 323: "国服以外讨论"}
        self.lock = threading.RLock()
        self.now = int(FIRST_MOMENT.timestamp())
        self.topics: dict[int, Topic] = {}
        self.other_rows: list[Row] = []
        # Whether list rows say which topics are featured. Recorded lists do not; some formats may.
        self.lists_digest = False
        self._next_tid = 40_000_001
        self._next_pid = 800_000_001
        self._uids: dict[str, int] = {}

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def advance(self, **span: float) -> datetime:
        """`advance(hours=3)`; things that happen later have later times."""
        self.now += int(timedelta(**span).total_seconds())
        return self.moment

    def set_time(self, moment: datetime | str) -> None:
        found = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        self.now = int(found.timestamp())

    def uid_of(self, author: str) -> int:
        return self._uids.setdefault(author, 4_000_001 + len(self._uids))

    # Topics

    def add_topic(
        self,
        title: str,
        text: str = "",
        *,
        author: str = "楼主甲",
        fid: int | None = None,
        anonymous: bool = False,
        attachments: Iterable[Attachment] = (),
        poll: str = "",
        parent: tuple[int, int, str] | None = None,
        shown_here: bool = False,
    ) -> int:
        """`shown_here`: a topic of another board that this board's list shows as well."""
        with self.lock:
            tid = self._tid()
            topic = Topic(tid, self.fid if fid is None else fid, written(title), self.now, poll=poll, parent=parent)
            topic.also_on = frozenset({self.fid}) if shown_here else frozenset()
            topic.type |= (ANONYMOUS if anonymous else 0) | (IN_COLLECTION if parent and parent[1] else 0)
            self.topics[tid] = topic
            self._write(topic, text or title, author, anonymous=anonymous, attachments=tuple(attachments))
            topic.opening.subject = topic.title
            return tid

    def rename(self, tid: int, title: str) -> None:
        with self.lock:
            topic = self.topics[tid]
            topic.title = topic.opening.subject = written(title)
            topic.modified_at = self.now

    def move(self, tid: int, fid: int, *, leave_mirror: bool = False) -> None:
        """To another board; the list may still show a row that refers to it."""
        with self.lock:
            if leave_mirror:
                self.mirror(tid)
            self.topics[tid].fid = fid
            self.topics[tid].modified_at = self.now

    def refuse(self, tid: int, said: str = GONE, *, listed: bool | None = None) -> None:
        """From now on the topic answers with this sentence. Empty: it can be read again."""
        with self.lock:
            topic = self.topics[tid]
            topic.refusal = said
            topic.is_listed = (not said or said != GONE) if listed is None else listed

    def mark(self, tid: int, **marks: bool) -> None:
        """`pinned`, `recommended`, `digest`, `locked`, `reversed` (newest replies first)."""
        with self.lock:
            topic = self.topics[tid]
            for name, value in marks.items():
                if name == "reversed":
                    topic.display = topic.display | NEWEST_FIRST if value else topic.display & ~NEWEST_FIRST
                else:
                    setattr(topic, f"is_{name}", value)

    def misplace(self, tid: int, hours: float) -> None:
        """Its place in the list is that of a topic so many hours younger (or older, below zero)."""
        self.topics[tid].moved_by = int(hours * 3600)

    def fill(self, tid: int, floors: int) -> None:
        """So many more floors together, without making them: a thousand pages cost nothing."""
        with self.lock:
            topic = self.topics[tid]
            topic.filler = topic.total - 1 + floors
            topic.last_post_at = topic.modified_at = self.now

    # Rows that are no topics

    def mirror(self, tid: int, title: str = "") -> int:
        """A row that refers to a topic, under a number of its own."""
        with self.lock:
            shown = written(title) or f"[{self.names.get(self.topics[tid].fid, '')}]{self.topics[tid].title}"
            number = self._tid()
            self.other_rows.append(Row("mirror", number, self.fid, self.now, tid, shown, posted_at=self.now))
            return number

    def deny(self, error: str = "帐号权限不足") -> None:
        """A placeholder for a topic that the reader may not see."""
        with self.lock:
            self.other_rows.append(Row("denied", 714 + len(self.other_rows), self.fid, self.now, error=error))

    def board_row(self, title: str = "某个分版") -> None:
        with self.lock:
            self.other_rows.append(Row("board", self._tid(), 635, self.now, title=written(title), posted_at=self.now))

    def collection(self, name: str) -> int:
        """A collection; give (fid, stid, name) as `parent` to the topics inside it."""
        with self.lock:
            stid = self.add_topic(name, "合集说明")
            self.topics[stid].type |= COLLECTION
            return stid

    # Posts

    def reply(
        self,
        tid: int,
        text: str,
        *,
        author: str = "路人乙",
        anonymous: bool = False,
        attachments: Iterable[Attachment] = (),
        subject: str = "",
        to: int | None = None,
    ) -> int:
        with self.lock:
            post = self._write(self.topics[tid], text, author, anonymous=anonymous, attachments=tuple(attachments))
            post.subject, post.reply_to = written(subject), to
            return post.pid

    def note(self, tid: int, parent: int, text: str, *, author: str = "贴条丙") -> int:
        """A note under a post: it takes a floor number of its own."""
        with self.lock:
            topic = self.topics[tid]
            topic.by_pid(parent).type |= HAS_NOTES
            post = self._write(topic, text, author, anonymous=False, attachments=())
            post.type |= NOTE
            post.parent = parent
            return post.pid

    def edit(self, tid: int, pid: int, text: str, *, by: str = "") -> None:
        with self.lock:
            topic = self.topics[tid]
            stamp = f"{self.uid_of(by)} {by}" if by else "0 0"
            topic.by_pid(pid).rewrite(written(text), self.now, stamp)
            topic.modified_at = self.now

    def punish(self, tid: int, pid: int) -> None:
        """The moderators wrap the post; no timestamp shows it."""
        with self.lock:
            post = self.topics[tid].by_pid(pid)
            source = f"[lessernuke]{post.content.source}[/lessernuke]"
            post.content = Content(source, self.now, post.content.edited_at, post.content.edited_by)

    def remove(self, tid: int, pid: int) -> None:
        """The floor is no longer shown; its number stays empty."""
        self.topics[tid].by_pid(pid).is_absent = True

    def restore(self, tid: int, pid: int) -> None:
        post = self.topics[tid].by_pid(pid)
        post.is_absent = post.is_blank = False
        post.type &= ~DELETED

    def delete(self, tid: int, pid: int, *, blank: bool = False) -> None:
        """Locked and hidden: shown as deleted, with its text or without."""
        post = self.topics[tid].by_pid(pid)
        post.type |= DELETED
        post.is_blank = blank

    def fold(self, tid: int, pid: int) -> None:
        self.topics[tid].by_pid(pid).type |= HIDDEN

    def lock_post(self, tid: int, pid: int) -> None:
        self.topics[tid].by_pid(pid).type |= LOCKED

    def vote(self, tid: int, pid: int, score: int = 1) -> None:
        self.topics[tid].by_pid(pid).score += score

    def _write(
        self, topic: Topic, text: str, author: str, *, anonymous: bool, attachments: tuple[Attachment, ...]
    ) -> Post:
        if topic.posts and topic.filler >= len(topic.posts):
            topic.posts = {lou: topic.floor(lou) for lou in range(topic.filler + 1)}
        lou = topic.total if topic.posts else 0
        post = Post(
            pid=self._pid() if lou else 0,
            lou=lou,
            author=written(author),
            uid=0 if anonymous else self.uid_of(author),
            posted_at=self.now,
            content=Content(written(text), self.now),
            token=token_of(author, topic.tid) if anonymous else "",
            type=(ANONYMOUS if anonymous else 0) | (HAS_FILES if attachments else 0),
            attachments=attachments,
        )
        topic.posts[lou] = post
        topic.last_post_at = topic.modified_at = self.now
        topic.last_poster = "#ANONYMOUS#" if anonymous else post.author
        return post

    def _tid(self) -> int:
        self._next_tid += 1
        return self._next_tid

    def _pid(self) -> int:
        self._next_pid += 1
        return self._next_pid
