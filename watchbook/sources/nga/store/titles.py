"""Titles: unescaped, cut to their column, their first `[…]` group kept as the prefix."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.parse import TopicPage, prefixes
from watchbook.sources.nga.store import fit
from watchbook.sources.nga.store.tags import attach_tags, tags_of_title
from watchbook.sources.nga.store.telling import TITLE_CHANGED, index_threads, tell_topics


def prefix_of(title: str, cuts: fit.Cuts) -> str | None:
    found = prefixes(title)
    return fit.text(found[0], fit.PREFIX, "prefix", cuts) if found else None


def title_values(thread: Thread, page: TopicPage, now: datetime) -> dict[str, Any]:
    """A title that changed since the list was read. A mirror has the title of its row, not that of the topic."""
    cuts = fit.Cuts()
    title = fit.text(page.title, fit.TITLE, "title", cuts)
    if not title or title == thread.title or page.fid != thread.forum.source_forum_id:
        return {}
    values = {"title": title, "title_prefix_text": prefix_of(page.title, cuts), "title_last_changed_at": now}
    thread.title = title
    attach_tags({thread.pk: tags_of_title(page.title, cuts)}, now)
    index_threads([thread], now)
    tell_topics([thread], TITLE_CHANGED, now)
    return values
