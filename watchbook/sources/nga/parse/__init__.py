"""Reading the forum: bytes of an answer in, frozen records out. No Django, no network, no clock.

Here are the records and errors, which everybody needs. What reads is loaded by whoever reads: `answer` has `read_list`
and `read_topic` for what was asked for and `read_answer` for whatever it is; `task` does the same in another process,
with JSON on both sides, and `page_of_task` makes records of that; `bbcode` has `render`, which makes HTML of a post.
"""

from watchbook.sources.nga.parse.errors import Damaged, LayoutChanged, Refused, Unreadable
from watchbook.sources.nga.parse.notes import Note
from watchbook.sources.nga.parse.packing import page_of_task
from watchbook.sources.nga.parse.records import (
    AttachmentRecord,
    FloorRecord,
    ListPage,
    PollRecord,
    StubRecord,
    TopicPage,
    TopicRecord,
    floors_of_page,
)
from watchbook.sources.nga.parse.titles import prefixes

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
