"""Parsers of the forum: bytes of a response in, frozen records out. No Django, no network, no clock.

This module exports records and errors. `answer` has `read_list`, `read_topic` and `read_answer`; `task` runs them in
another process; `bbcode` renders a post as HTML.
"""

from watchbook.systems.nga.parse.errors import Damaged, LayoutChanged, Note, Refused, Unreadable
from watchbook.systems.nga.parse.records import (
    AttachmentRecord,
    FloorRecord,
    ListPage,
    PollRecord,
    StubRecord,
    TopicPage,
    TopicRecord,
    floors_of_page,
    page_of_task,
    prefixes,
)

__all__ = [
    "AttachmentRecord",
    "Damaged",
    "FloorRecord",
    "LayoutChanged",
    "ListPage",
    "Note",
    "PollRecord",
    "Refused",
    "StubRecord",
    "TopicPage",
    "TopicRecord",
    "Unreadable",
    "floors_of_page",
    "page_of_task",
    "prefixes",
]
