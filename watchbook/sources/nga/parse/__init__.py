"""Reading the forum: bytes of an answer in, frozen records out. No Django, no network, no clock.

`read_list` and `read_topic` read what was asked for, `read_answer` whatever it is; `read_answer_task` does the same in
another process, with JSON on both sides. `render` makes HTML of a post.
"""

from watchbook.sources.nga.parse.answer import read_answer, read_list, read_topic
from watchbook.sources.nga.parse.bbcode import Extras, Place, render
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.errors import Damaged, LayoutChanged, Refused, Unreadable
from watchbook.sources.nga.parse.fingerprint import fingerprint
from watchbook.sources.nga.parse.notes import Note
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
from watchbook.sources.nga.parse.task import page_of_task, read_answer_task
from watchbook.sources.nga.parse.titles import prefixes

__all__ = [
    "Addresses",
    "AttachmentRecord",
    "Damaged",
    "Extras",
    "FloorRecord",
    "LayoutChanged",
    "ListPage",
    "Note",
    "Place",
    "PollRecord",
    "Refused",
    "StubRecord",
    "TopicPage",
    "TopicRecord",
    "Unreadable",
    "fingerprint",
    "floors_of_page",
    "page_of_task",
    "prefixes",
    "read_answer",
    "read_answer_task",
    "read_list",
    "read_topic",
    "render",
]
