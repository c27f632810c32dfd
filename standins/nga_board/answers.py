"""The data of list and topic answers, before a serialiser prints it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from standins.nga_board.dialect import KEYWORDS, TAB, Dialect
from standins.nga_board.layout import ordinary_rows
from standins.nga_board.records import (
    BOARD_ROW,
    COLLECTION,
    NEWEST_FIRST,
    OPENING,
    TOPICS_PER_PAGE,
    Post,
    Row,
    Topic,
)
from standins.nga_board.wording import minute, packed
from standins.nga_board.world import World

HOT_SCORE = 20


def list_data(world: World, fid: int, rows: list[Row], dialect: Dialect) -> dict[str, Any]:
    writer = RowWriter(world, dialect)
    in_pins = True
    written: dict[str, Any] = {}
    for number, row in enumerate(rows):
        in_pins = in_pins and row.kind == "topic" and world.topics[row.tid].is_pinned
        written[str(number)] = writer.row(row, is_marked=in_pins or (row.is_extra and writer.is_recommended(row)))
    return {
        "__CU": {"uid": 0, "group_bit": 0, "admincheck": "", "rvrc": 0},
        "__GLOBAL": {"_ATTACH_BASE_VIEW": "img.nga.cn/attachments"},
        "__F": {
            "fid": fid,
            "name": world.names.get(fid, ""),
            "topped_topic": next(iter(world.topics), 0),
            "sub_forums": {"323": {"0": 323, "1": "国服以外讨论", "2": "", "3": 0, "4": 559}},
        },
        "__ROWS": len(ordinary_rows(world, fid)),
        "__T": written,
        "__T__ROWS": len(rows),
        "__T__ROWS_PAGE": TOPICS_PER_PAGE,
        "__R__ROWS_PAGE": 20,
    }


class RowWriter:
    def __init__(self, world: World, dialect: Dialect) -> None:
        self.world = world
        self.dialect = dialect

    def is_recommended(self, row: Row) -> bool:
        return row.kind == "topic" and self.world.topics[row.tid].is_recommended

    def row(self, row: Row, *, is_marked: bool) -> dict[str, Any]:
        if row.kind == "denied":
            return self._denied(row)
        if row.kind == "board":
            return self._board(row)
        topic = self.world.topics[row.real_tid or row.tid]
        opening, is_mirror = topic.opening, row.kind == "mirror"
        author = opening.token or opening.author
        found: dict[str, Any] = {
            "tid": row.tid,
            "fid": row.fid,
            "quote_from": row.real_tid,
            "quote_to": "",
            "author": self.dialect.number_or_text(author),
            "authorid": opening.token or opening.uid,
            "subject": self.dialect.number_or_text(row.title if is_mirror else topic.title),
            "type": topic.type,
            "postdate": row.posted_at,
            "lastpost": topic.last_post_at,
            "lastposter": "#SYSTEM#" if is_mirror else self.dialect.number_or_text(topic.last_poster),
            "replies": topic.replies,
            "lastmodify": topic.modified_at,
            "recommend": 10 if is_marked else 0,
            "topic_misc": packed({1: topic.display}) if topic.display else "",
            "jdata": f'{{"skw":"{KEYWORDS}"}}',
            "tpcurl": f"/read.php?tid={row.real_tid or row.tid}",
        }
        return found | self._more(topic, is_marked=is_marked)

    def _more(self, topic: Topic, *, is_marked: bool) -> dict[str, Any]:
        more: dict[str, Any] = {"icon": 0} if is_marked else {}
        if self.world.lists_digest:
            more["digest"] = int(topic.is_digest)
        if topic.display:
            more["topic_misc_var"] = {"1": topic.display}
        if topic.type & COLLECTION:
            more["tpcurl"] = f"/thread.php?stid={topic.tid}"
        if topic.parent:
            parent = {str(number): part for number, part in enumerate(topic.parent)}
            more["parent"] = json.dumps(parent, ensure_ascii=False) if self.dialect.textual_parents else parent
        return more

    def _denied(self, row: Row) -> dict[str, Any]:
        return {
            "tid": row.tid, "fid": row.fid, "quote_from": 0, "author": "", "authorid": 0, "subject": row.error,
            "type": 0, "postdate": 0, "lastpost": 0, "lastposter": "", "replies": 0, "lastmodify": 0, "recommend": 0,
            "topic_misc": "", "denied": "1", "error": row.error,
        }  # fmt: skip

    def _board(self, row: Row) -> dict[str, Any]:
        return {
            "tid": row.tid, "fid": row.fid, "quote_from": 0, "author": "#SYSTEM#", "authorid": 0, "subject": row.title,
            "type": BOARD_ROW, "postdate": row.posted_at, "lastpost": row.posted_at, "lastposter": "#SYSTEM#",
            "replies": 0, "lastmodify": row.posted_at, "recommend": 0, "topic_misc": packed({3: 835, 1: 32}),
            "topic_misc_var": {"1": 32, "3": 835}, "tpcurl": "/thread.php?fid=835",
        }  # fmt: skip


def topic_data(world: World, topic: Topic, page: int, dialect: Dialect) -> dict[str, Any]:
    posts = topic.shown_on(page)
    people = People(dialect)
    rows = {str(number): _post(topic, post, people, dialect) for number, post in enumerate(posts)}
    return {
        "__CU": {"uid": 0, "group_bit": 0, "admincheck": "", "rvrc": 0},
        "__GLOBAL": {"_ATTACH_BASE_VIEW": "img.nga.cn/attachments"},
        "__R": rows,
        "__T": _topic(topic, people, dialect),
        "__U": people.data(topic.fid),
        "__F": {"name": world.names.get(topic.fid, ""), "custom_level": ""},
        "__R__ROWS": len(posts),
        "__R__ROWS_PAGE": 20,
        "__ROWS": topic.total,
        "__PAGE": page,
    }


def found_post(topic: Topic, post: Post) -> dict[str, Any]:
    """A reply inside of its topic's row, in a list of one author's replies."""
    return {
        "tid": topic.tid, "pid": post.pid, "authorid": post.uid, "type": post.type, "postdate": post.posted_at,
        "subject": post.subject, "content": post.source,
    }  # fmt: skip


def post_data(world: World, topic: Topic, post: Post, dialect: Dialect) -> dict[str, Any]:
    """The view of one post. Its floor number is true, the counts are those of the view."""
    people = People(dialect)
    rows = {"0": _post(topic, post, people, dialect)}
    whole = topic_data(world, topic, 1, dialect)
    users = {"__T": _topic(topic, people, dialect), "__U": people.data(topic.fid)}
    return whole | users | {"__R": rows, "__R__ROWS": 1, "__ROWS": 1, "__PAGE": 1}


class People:
    """The users of one answer. Every anonymous row gets a slot of its own, also when the person is the same."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._users: dict[str, dict[str, Any]] = {}
        self._slots = 0

    def id_of(self, post: Post) -> int:
        if post.token:
            self._slots -= 1
            self._users[str(self._slots)] = {"uid": 0, "username": post.token, "buffs": {"103": 1}}
            return self._slots
        if str(post.uid) not in self._users:
            self._users[str(post.uid)] = self._user(post)
        return post.uid

    def data(self, fid: int) -> dict[str, Any]:
        return self._users | {
            "__GROUPS": {"0": {"0": "学徒", "1": 0, "2": 0}},
            "__MEDALS": {"3": {"0": "a.gif", "1": "勋章", "2": "说明", "3": 3}},
            "__REPUTATIONS": {str(fid): dict.fromkeys(self._users, 1)},
        }

    def _user(self, post: Post) -> dict[str, Any]:
        return {
            "uid": post.uid, "username": self._dialect.number_or_text(post.author), "credit": 0,
            "medal": 3 if post.uid % 2 else "3,7", "reputation": "", "groupid": -1, "memberid": 39,
            "avatar": f".a/{post.uid}_0.jpg?3", "yz": 1, "site": "", "honor": "", "regdate": 1300000000,
            "mute_time": 0, "postnum": 12, "rvrc": -3, "money": 100, "thisvisit": 1782532800,
            "signature": "", "nickname": "", "bit_data": 0, "remark": f"1{TAB}备注",
        }  # fmt: skip


def _topic(topic: Topic, people: People, dialect: Dialect) -> dict[str, Any]:
    opening = topic.opening
    misc: dict[str, Any] = {"content_length": len(opening.source), "fid": topic.fid}
    found: dict[str, Any] = {
        "fid": topic.fid, "tid": topic.tid, "topic_misc": packed({1: topic.display}) if topic.display else "",
        "subject": dialect.number_or_text(topic.title), "locked": int(topic.is_locked), "recommend": 0, "quote_to": "",
        "quote_from": 0, "type": topic.type, "replies": topic.replies, "authorid": people.id_of(opening),
        "postdate": topic.posted_at, "lastpost": topic.last_post_at, "jdata": "", "author": opening.token or
        dialect.number_or_text(opening.author), "lastposter": dialect.number_or_text(topic.last_poster),
        "digest": int(topic.is_digest), "lastmodify": topic.modified_at, "tpid": 0,
        "post_misc_var": misc | ({"vote": topic.poll} if topic.poll else {}), "this_visit_rows": topic.total,
    }  # fmt: skip
    return found | ({"topic_misc_var": {"1": topic.display}} if topic.display & NEWEST_FIRST else {})


def _post(topic: Topic, post: Post, people: People, dialect: Dialect) -> dict[str, Any]:
    if post.parent is not None:
        return _stub(post, people)
    return _full(topic, post, people, dialect) | _hung(topic, post, people, dialect)


def _stub(post: Post, people: People) -> dict[str, Any]:
    """A note's own floor: everything but what it says."""
    return {
        "subject": f"对回复({post.parent})发表了一条评论", "lou": post.lou, "author": "",
        "authorid": people.id_of(post),
        "postdate": minute(post.posted_at), "pid": post.pid, "comment_to_id": post.parent,
    }  # fmt: skip


def _full(topic: Topic, post: Post, people: People, dialect: Dialect) -> dict[str, Any]:
    content = post.content
    found: dict[str, Any] = {
        "content": dialect.number_or_text(post.source),
        "alterinfo": f"[E{content.edited_at} {content.edited_by}]{TAB}" if content.edited_at else "",
        "type": post.type | (topic.type | OPENING if post.lou == 0 else 0), "authorid": people.id_of(post),
        "subject": dialect.number_or_text(post.subject), "pid": post.pid, "tid": topic.tid, "fid": topic.fid,
        "postdate": minute(post.posted_at), "postdatetimestamp": post.posted_at, "score": post.score, "score_2": 0,
        "recommend": 0, "lou": post.lou, "content_length": len(post.source), "from_client": "8 Android",
        "attachs": files_data(post.attachments) if post.attachments else "",
    }  # fmt: skip
    if post.lou == 0:
        found["follow"] = 0
    return found | ({"reply_to": post.reply_to} if post.reply_to else {})


def _hung(topic: Topic, post: Post, people: People, dialect: Dialect) -> dict[str, Any]:
    """Notes under the post, and on the opening post copies of what was liked most."""
    found: dict[str, Any] = {}
    notes = topic.notes_of(post.pid)
    if notes:
        shown = [note for note in notes if not note.is_absent]
        rows = {str(n): _full(topic, note, people, dialect) | {"comment_to_id": post.pid}
                for n, note in enumerate(shown)}  # fmt: skip
        found |= {"comment_id": ",".join(str(note.pid) for note in notes), "comment": rows}
    if post.lou == 0 and (hot := hot_posts(topic)):
        found["hotreply_id"] = found["17"] = "," + ",".join(str(one.pid) for one in hot)
        found["hotreply"] = {str(number): _full(topic, one, people, dialect) for number, one in enumerate(hot)}
    return found


def hot_posts(topic: Topic) -> list[Post]:
    liked = (post for post in topic.posts.values() if post.lou and post.parent is None and not post.is_absent)
    return [post for post in liked if post.score >= HOT_SCORE]


def files_data(files: Iterable[Any]) -> dict[str, Any]:
    return {
        str(number): {
            "attachurl": file.path, "size": file.size, "type": file.kind, "subid": 0, "url_utf8_org_name":
            file.name.replace(".", "%2e"), "dscp": "", "path": file.path.rpartition("/")[0], "name":
            file.path.rpartition("/")[2], "ext": file.path.rpartition(".")[2], "thumb": 56, "hash": "",
        }
        for number, file in enumerate(files)
    }  # fmt: skip
