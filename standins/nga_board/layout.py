"""Which rows stand on which page of a list, in which order. It is not simply sorted, as on the real one."""

from __future__ import annotations

from standins.nga_board.records import COLLECTION, TOPICS_PER_PAGE, Row, Topic
from standins.nga_board.world import World


def row_of(topic: Topic) -> Row:
    return Row("topic", topic.tid, topic.fid, topic.posted_at + topic.moved_by, posted_at=topic.posted_at)


def ordinary_rows(world: World, fid: int, order: str = "postdatedesc") -> list[Row]:
    """Rows that the pages count. Pinned topics stand on top instead, children behind their collection."""
    rows = [
        row_of(topic)
        for topic in world.topics.values()
        if topic.is_listed
        and (topic.fid == fid or fid in topic.also_on)
        and not topic.is_pinned
        and not (topic.parent and topic.parent[1] in world.topics)
    ]
    rows += [row for row in world.other_rows if fid == world.fid]
    if order == "lastpostdesc":
        return sorted(rows, key=lambda row: (_last_post(world, row), row.tid), reverse=True)
    return sorted(rows, key=lambda row: (row.at, row.tid), reverse=True)


def page_count(world: World, fid: int) -> int:
    return max(1, -(-len(ordinary_rows(world, fid)) // TOPICS_PER_PAGE))


def page_rows(world: World, fid: int, page: int, order: str = "postdatedesc") -> list[Row]:
    """One page: pins first, each collection followed by its children, recommended topics again at the end."""
    counted = ordinary_rows(world, fid, order)[(page - 1) * TOPICS_PER_PAGE : page * TOPICS_PER_PAGE]
    rows: list[Row] = []
    for row in counted:
        rows.append(row)
        if row.kind == "topic" and world.topics[row.tid].type & COLLECTION:
            rows += [row_of(topic).as_extra() for topic in _children(world, row.tid)]
    if page != 1:
        return rows
    listed = [topic for topic in world.topics.values() if topic.is_listed and topic.fid == fid]
    pins = [row_of(topic).as_extra() for topic in listed if topic.is_pinned]
    return pins + rows + [row_of(topic).as_extra() for topic in listed if topic.is_recommended]


def _children(world: World, stid: int) -> list[Topic]:
    inside = [topic for topic in world.topics.values() if topic.is_listed and topic.parent and topic.parent[1] == stid]
    return sorted(inside, key=lambda topic: topic.posted_at, reverse=True)


def _last_post(world: World, row: Row) -> int:
    topic = world.topics.get(row.real_tid or row.tid)
    return topic.last_post_at if topic else row.at
