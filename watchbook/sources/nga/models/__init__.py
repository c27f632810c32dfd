"""The document's twelve tables and the few beside them, with all reads. Times are Shanghai wall time."""

from watchbook.sources.nga.models.audits import (
    MOST_ATTEMPTS,
    ErrorCategory,
    FloorRepair,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadFloorRepairAttempt,
    ThreadRepair,
)
from watchbook.sources.nga.models.extras import MediaAsset, NoteParent, PostMediaMap, ThreadSearchDocument
from watchbook.sources.nga.models.floors import ChangeReason, Post, PostAbsence, PostRevision
from watchbook.sources.nga.models.forum import (
    MOST_PAGES,
    PAGE_LIMIT,
    Forum,
    TagSource,
    Thread,
    ThreadReadingState,
    ThreadTag,
    ThreadTagMap,
)
from watchbook.sources.nga.models.runs import CrawlRun, CrawlRunThread

__all__ = [
    "MOST_ATTEMPTS",
    "MOST_PAGES",
    "PAGE_LIMIT",
    "ChangeReason",
    "CrawlRun",
    "CrawlRunThread",
    "ErrorCategory",
    "FloorRepair",
    "Forum",
    "MediaAsset",
    "NoteParent",
    "Post",
    "PostAbsence",
    "PostMediaMap",
    "PostRevision",
    "TagSource",
    "Thread",
    "ThreadFloorAuditPost",
    "ThreadFloorAuditRun",
    "ThreadFloorAuditThread",
    "ThreadFloorRepairAttempt",
    "ThreadReadingState",
    "ThreadRepair",
    "ThreadSearchDocument",
    "ThreadTag",
    "ThreadTagMap",
]
