"""Topics that the site calls gone or hidden. Said twice, in two runs, it is believed: no more requests are spent.

The floors stay as they are: a hidden topic may come back, and a mark on a thousand floors would be wrong then.
"""

from __future__ import annotations

from datetime import datetime

from watchbook.sources.nga.models import Thread, ThreadReadingState
from watchbook.sources.nga.store.telling import GONE, tell_topics

ANSWERS_BELIEVED = 2


def note_gone(thread: Thread, crawl_run_id: int, now: datetime) -> None:
    state, _ = ThreadReadingState.objects.get_or_create(thread=thread, defaults={"updated_at": now})
    if state.gone_crawl_run_id == crawl_run_id:
        return
    state.gone_answer_count += 1
    state.gone_crawl_run_id, state.updated_at = crawl_run_id, now
    if state.gone_answer_count >= ANSWERS_BELIEVED and state.gone_at is None:
        state.gone_at = now
        tell_topics([thread], GONE, now)
    state.save()


def note_readable(
    thread: Thread, state: ThreadReadingState | None, is_newest_first: bool, now: datetime
) -> ThreadReadingState | None:
    """The topic gave a page: it is not gone. Remembers the order of its floors, too. Most topics need no row."""
    known = (state.is_newest_first, state.gone_answer_count) if state else (False, 0)
    if known == (is_newest_first, 0):
        return state
    state = state or ThreadReadingState(thread=thread)
    state.is_newest_first, state.gone_answer_count = is_newest_first, 0
    state.gone_crawl_run_id = state.gone_at = None
    state.updated_at = now
    state.save()
    return state
