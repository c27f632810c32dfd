"""One post as a listing or a look-up by id shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class PostRecord:
    """`text` is None and the hash empty where Reddit shows a placeholder: the real words are not in this answer."""

    post_id: str
    subreddit: str
    title: str
    text: str | None
    author: str
    author_deleted: bool
    removed_by_category: str
    score: int
    num_comments: int
    created_at: datetime
    edited_at: datetime | None
    url: str
    text_norm_hash: str
    is_stickied: bool = False
    extra_data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fullname(self) -> str:
        return f"t3_{self.post_id}"

    @property
    def is_gone(self) -> bool:
        """Removed by somebody, or deleted by its author. The account being gone is not enough: its text may stay."""
        return bool(self.removed_by_category) or self.author_deleted
