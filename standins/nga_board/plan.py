"""The fewest requests with which the rules can be kept: what a run has to ask for, given what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from standins.nga_board.layout import page_count, page_rows
from standins.nga_board.records import Row, Topic
from standins.nga_board.world import World

PAGES_A_RUN = 5
MOST_PAGES = 1000
WINDOW_DAYS = 3


@dataclass(frozen=True)
class Known:
    """What an archive has of a topic. `next_page`: where an unfinished one continues."""

    last_post_at: int | None = None
    last_floor: int | None = None
    next_page: int | None = None


@dataclass
class Plan:
    list_pages: int = 0
    topic_pages: dict[int, list[int]] = field(default_factory=dict)
    note_pages: dict[int, list[int]] = field(default_factory=dict)
    """Pages that have to be read as HTML too: a note's floor is there, its post is not among the pages read."""

    @property
    def requests(self) -> int:
        return self.list_pages + sum(map(len, self.topic_pages.values())) + sum(map(len, self.note_pages.values()))


def plan_run(world: World, known: Mapping[int, Known], *, moment: datetime | None = None) -> Plan:
    """One run at this moment (the world's own by default), undisturbed."""
    today = _day(int((moment or world.moment).timestamp()))
    plan = Plan()
    window = _scan(world, today, plan)
    for tid in window:
        topic, before = world.topics[tid], known.get(tid, Known())
        if before.last_post_at != topic.last_post_at or before.next_page:
            _visit(plan, topic, before)
    for tid, before in known.items():
        if tid not in window and before.next_page and tid in world.topics:
            _visit(plan, world.topics[tid], before)
    return plan


def _scan(world: World, today: date, plan: Plan) -> set[int]:
    """Pages up to the second one in a row without an own topic of the window, or to the end."""
    found: set[int] = set()
    empty = 0
    for page in range(1, page_count(world, world.fid) + 1):
        plan.list_pages += 1
        own = {row.real_tid or row.tid for row in page_rows(world, world.fid, page) if _counts(world, row, today)}
        found |= own
        empty = 0 if own else empty + 1
        if empty == 2:
            break
    return found


def _counts(world: World, row: Row, today: date) -> bool:
    is_own = row.kind in {"topic", "mirror"} and row.fid == world.fid
    return is_own and today - timedelta(days=WINDOW_DAYS - 1) <= _day(row.posted_at) <= today


def _day(seconds: int) -> date:
    return (datetime.fromtimestamp(seconds, UTC) + timedelta(hours=8)).date()


def _visit(plan: Plan, topic: Topic, before: Known) -> None:
    if topic.pages > MOST_PAGES or topic.refusal:
        if topic.refusal and topic.pages <= MOST_PAGES:
            plan.topic_pages[topic.tid] = [1]
        return
    if before.next_page:
        pages = range(before.next_page, topic.pages + 1)
    elif before.last_floor is None:
        pages = range(1, topic.pages + 1)
    elif topic.is_newest_first:
        pages = range(1, topic.page_of(before.last_floor) + 1)
    else:
        pages = range(topic.page_of(before.last_floor), topic.pages + 1)
    chosen = list(pages)[:PAGES_A_RUN]
    plan.topic_pages[topic.tid] = chosen
    notes = [page for page in chosen if _lacks_a_text(topic, page, chosen, before)]
    if notes:
        plan.note_pages[topic.tid] = notes


def _lacks_a_text(topic: Topic, page: int, chosen: list[int], before: Known) -> bool:
    for post in topic.shown_on(page):
        is_new = before.last_floor is None or post.lou > before.last_floor
        if post.parent is not None and is_new:
            parent = topic.by_pid(post.parent)
            if parent.is_absent or topic.page_of(parent.lou) not in chosen:
                return True
    return False
