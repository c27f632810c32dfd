"""What one record means for what is known of its post. No database: known rows in, a decision out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from watchbook.sources.reddit.parse import PostRecord

# Ages at which a post is looked up again by id.
RECHECK_AGES = (timedelta(hours=2), timedelta(hours=24), timedelta(hours=72))


class Step(Enum):
    NEW = "new"  # never seen
    SAME = "same"  # the text is the current one
    CHANGED = "changed"  # a text that was never there
    RETURNED = "returned"  # a text that was there before
    HIDDEN = "hidden"  # Reddit shows a placeholder: the text stays as it was
    REVEALED = "revealed"  # first seen hidden or blanked here since: the real text is written into its row


@dataclass(frozen=True)
class KnownRow:
    """The columns of posts_raw that a decision needs."""

    pk: int
    post_id: str
    text_norm_hash: str
    version: int
    is_current: bool
    score: int
    num_comments: int
    removed_by_category: str
    author_deleted: bool
    seen_in_new: bool
    valid_from: datetime
    first_seen_at: datetime
    recheck_due: datetime | None
    recheck_step: int
    missing_looks: int
    found_by: str
    is_blanked: bool
    is_hidden: bool


@dataclass(frozen=True)
class Decision:
    """`row` is the row that is current from now on, if there is one; `closes` the one that no longer is."""

    step: Step
    record: PostRecord
    row: KnownRow | None = None
    closes: KnownRow | None = None
    version: int = 1

    @property
    def opens_version(self) -> bool:
        return self.step in (Step.NEW, Step.CHANGED, Step.RETURNED)

    @property
    def was_gone(self) -> bool:
        before = self.closes or self.row
        return before is not None and bool(before.removed_by_category or before.author_deleted)

    @property
    def is_news(self) -> bool:
        """Something of a known post is different: text, state, score or comments."""
        row = self.row
        if self.step is not Step.SAME and self.step is not Step.HIDDEN:
            return True
        assert row is not None
        now = (self.record.score, self.record.num_comments, self.record.removed_by_category, self.record.author_deleted)
        return now != (row.score, row.num_comments, row.removed_by_category, row.author_deleted)


def decide(record: PostRecord, rows: list[KnownRow]) -> Decision:
    """`rows` are all versions of this very post."""
    current = next((row for row in rows if row.is_current), None)
    if current is None:
        return Decision(Step.NEW, record)
    if record.text is None:
        return Decision(Step.HIDDEN, record, row=current, version=current.version)
    same = record.text_norm_hash == current.text_norm_hash
    if current.is_hidden or (current.is_blanked and same and not record.is_gone):
        return Decision(Step.REVEALED, record, row=current, version=current.version)
    if same:
        return Decision(Step.SAME, record, row=current, version=current.version)
    version = max(row.version for row in rows) + 1
    earlier = next((row for row in rows if row.text_norm_hash == record.text_norm_hash), None)
    step = Step.RETURNED if earlier else Step.CHANGED
    return Decision(step, record, row=earlier, closes=current, version=version)


def next_recheck(created_at: datetime, now: datetime) -> tuple[datetime | None, int]:
    """The first look that is still ahead, and its number; (None, …) when all are past."""
    for step, age in enumerate(RECHECK_AGES):
        if created_at + age > now:
            return created_at + age, step
    return None, len(RECHECK_AGES)
