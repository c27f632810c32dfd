"""What the stories hand to the store, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.parse import FloorRecord, TopicPage
from watchbook.sources.nga.store.fit import Cuts


@dataclass(frozen=True)
class PageReading:
    """One page of a topic that was read whole."""

    thread_id: int
    crawl_run_id: int
    run_thread_id: int
    page: TopicPage
    floors: tuple[FloorRecord, ...]
    """The page's own floors, and notes among them whose text was found elsewhere."""
    next_page: int | None
    """Where reading goes on; None when the topic is complete."""
    moves_on: bool = True
    """False: the topic's place stays where it is (single pages asked for by hand)."""


@dataclass(frozen=True)
class PageStored:
    new_count: int = 0
    updated_count: int = 0
    cuts: Cuts = field(default_factory=Cuts)


@dataclass(frozen=True)
class ListStored:
    """What one page of the list meant: topics that changed, and all own topics inside the window."""

    changed: tuple[Thread, ...]
    in_window: frozenset[int]
    """Topic ids."""
    unfinished: frozenset[int]
    """Row ids of stored topics of the window that owe pages without having changed."""
    cuts: Cuts = field(default_factory=Cuts)
