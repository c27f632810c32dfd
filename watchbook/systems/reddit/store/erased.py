"""Erased authors: what they wrote is removed everywhere, and later crawls and imports store it without words.

The row of a post or comment stays, as after a deletion on Reddit: crawls need its ID to know what they have seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar

from watchbook.core.notify.outbox.enqueue import erase as erase_deliveries
from watchbook.systems.reddit.models import Comment, ErasedAuthor, PostHot, PostRaw
from watchbook.systems.reddit.models.posts import KIND, SOURCE
from watchbook.systems.reddit.parse import CommentRecord, PostRecord
from watchbook.systems.reddit.store import files

Record = TypeVar("Record", PostRecord, CommentRecord)


def digest_of(author: str) -> str:
    """Names of Reddit ignore case."""
    return sha256(f"reddit author\x1f{author.lower()}".encode()).hexdigest()


def remember(author: str, now: datetime) -> None:
    ErasedAuthor.objects.update_or_create(digest=digest_of(author), defaults={"erased_at": now})


def allow(author: str) -> bool:
    """Store posts and comments of this author again. False if the author was not erased."""
    return bool(ErasedAuthor.objects.filter(digest=digest_of(author)).delete()[0])


def without_words(records: Sequence[Record]) -> list[Record]:
    """Return the records, those of erased authors without words. One query for a batch."""
    digests = {name: digest_of(name) for record in records for name in _names(record) if name}
    known = set(ErasedAuthor.objects.filter(digest__in=set(digests.values())).values_list("digest", flat=True))
    if not known:
        return list(records)
    erased = {name for name, digest in digests.items() if digest in known}
    return [_wordless(record, erased) for record in records]


def mark_erased(records: Iterable[PostRecord | CommentRecord], before: Iterable[Any], now: datetime) -> None:
    """Mark rows whose words were erased, so that no page says that Reddit removed them."""
    left_out = [
        new for new, old in zip(records, before, strict=True) if new is not old and new.text is None and not new.author
    ]
    posts = [record.post_id for record in left_out if isinstance(record, PostRecord)]
    comments = [record.comment_id for record in left_out if isinstance(record, CommentRecord)]
    if posts:
        PostRaw.objects.of(posts).filter(blanked_at=None).update(blanked_at=now)
    if comments:
        Comment.objects.of(comments).filter(blanked_at=None).update(blanked_at=now)


def _names(record: PostRecord | CommentRecord) -> tuple[str, ...]:
    return (record.author, str((record.extra_data.get("crosspost") or {}).get("author", "")))


def _wordless(record: Record, erased: set[str]) -> Record:
    author, parent = _names(record)
    if author in erased:
        kept: dict[str, Any] = {"text": None, "text_norm_hash": "", "author": "", "extra_data": {}, "edited_at": None}
        if isinstance(record, PostRecord):
            kept |= {"title": "", "url": ""}
        return replace(record, **kept)
    if parent in erased:
        return replace(record, extra_data=_without_parent(record.extra_data))
    return record


def _without_parent(extra: Any) -> dict[str, Any]:
    """The pictures of a crosspost are those of its parent."""
    return {name: value for name, value in extra.items() if name not in ("crosspost", "picture", "gallery")}


def crossposts_of(author: str) -> list[PostRaw]:
    """Return all versions of other authors' posts that hold a text of this author as their parent."""
    return list(PostRaw.objects.filter(source=SOURCE, extra_data__crosspost__author__iexact=author))


def erase_parents(rows: Sequence[PostRaw]) -> None:
    """Remove text and pictures of the parent from crossposts, their hot copies and what was notified of them."""
    for row in rows:
        row.extra_data = _without_parent(row.extra_data)
        row.save(update_fields=["extra_data"])
    ids = {row.source_post_id for row in rows}
    copies = list(PostHot.objects.filter(source=SOURCE, source_post_id__in=ids))
    for copy in copies:
        copy.extra_data = _without_parent(copy.extra_data)
    PostHot.objects.bulk_update(copies, ["extra_data"])
    files.release(ids)
    erase_deliveries(KIND, sorted(ids))
