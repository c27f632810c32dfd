"""Reading sitemaps: bytes in, frozen records and canonical lists out. No Django, no network, no clock.

`read_part` reads one file, `read_part_task` does the same with small JSON on both sides, `read_robots` finds sitemaps.
"""

from watchbook.sources.sitemaps.parse.errors import Damaged, Dangerous, NotASitemap, Unreadable
from watchbook.sources.sitemaps.parse.lists import PartList
from watchbook.sources.sitemaps.parse.notes import Note
from watchbook.sources.sitemaps.parse.part import read_part
from watchbook.sources.sitemaps.parse.records import ChildRecord, Limits, PartRecord, UrlRecord
from watchbook.sources.sitemaps.parse.robots import RobotsRecord, read_robots
from watchbook.sources.sitemaps.parse.task import read_part_task

__all__ = [
    "ChildRecord",
    "Damaged",
    "Dangerous",
    "Limits",
    "NotASitemap",
    "Note",
    "PartList",
    "PartRecord",
    "RobotsRecord",
    "Unreadable",
    "UrlRecord",
    "read_part",
    "read_part_task",
    "read_robots",
]
