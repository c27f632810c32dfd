"""Stores comments with their versions, publishes search documents and activity, and erases what was deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from watchbook.base.store.rows import Columns
from watchbook.core.accounts import audit
from watchbook.core.erase import erase
from watchbook.core.notify.outbox.enqueue import erase as erase_deliveries
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import Comment, CommentVersion, FoundBy, PostRaw
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.parse import CommentRecord
from watchbook.systems.reddit.records import Tally, comment_path, comments_path
from watchbook.systems.reddit.store.decide import Reading, Step, next_recheck
from watchbook.systems.reddit.store.erased import mark_erased, without_words

SYSTEM, SCOPE = "reddit", "members"
BATCH = 200
STATE = [
    "score", "edited_at", "removed_by_category", "author_deleted", "seen_in_new", "observed_at", "updated_at",
    "recheck_due", "recheck_step", "missing_looks",
]  # fmt: skip
TEXT = ["content", "author", "text_norm_hash", "version", "valid_from", "blanked_at", "extra_data"]
FIXED = [
    "comment_id", "post_id", "parent_id", "subreddit", "thread_title", "created_at", "first_seen_at", "found_by",
]  # fmt: skip
NEW = Columns(Comment, [*FIXED, *TEXT, *STATE])
CHANGED = Columns(Comment, [*TEXT, *STATE])
SEEN = Columns(Comment, STATE)
VERSIONS = Columns(CommentVersion, ["comment", "valid_to"])
COPIED = ["version", "content", "text_norm_hash", "valid_from"]


class KnownComment(NamedTuple):
    """The columns of a stored comment that a decision needs; its text stays in the database."""

    pk: int
    comment_id: str
    text_norm_hash: str
    version: int
    score: int
    removed_by_category: str
    author_deleted: bool
    seen_in_new: bool
    missing_looks: int
    recheck_due: datetime | None
    recheck_step: int
    author: str
    thread_title: str
    valid_from: datetime
    blanked_at: datetime | None


KNOWN = Columns(Comment, ["id", *KnownComment._fields[1:]])


@dataclass(frozen=True)
class Decided:
    """What a record means for the stored comment."""

    step: Step
    record: CommentRecord
    row: KnownComment | None = None

    @property
    def is_changed(self) -> bool:
        """Return True if text, state or score changed."""
        row, seen = self.row, self.record
        if row is None or self.step not in (Step.SAME, Step.HIDDEN):
            return True
        now = (seen.score, seen.removed_by_category, seen.author_deleted)
        return now != (row.score, row.removed_by_category, row.author_deleted)

    @property
    def was_gone(self) -> bool:
        return self.row is not None and bool(self.row.removed_by_category or self.row.author_deleted)


def decide(seen: CommentRecord, row: KnownComment | None) -> Decided:
    """Decide as for posts; the only difference is that a comment has one row, so no text returns to another row."""
    if row is None:
        return Decided(Step.NEW, seen)
    if seen.text is None:
        return Decided(Step.HIDDEN, seen, row)
    is_same = seen.text_norm_hash == row.text_norm_hash
    if not row.text_norm_hash or (row.blanked_at and is_same and not seen.is_gone):
        return Decided(Step.REVEALED, seen, row)
    return Decided(Step.SAME if is_same else Step.CHANGED, seen, row)


def store_comments(records: Sequence[CommentRecord], reading: Reading) -> Tally:
    """Store comments, search documents and activity. The caller locks the listing of the community."""
    if not records:
        return Tally()
    given, records = records, without_words(records)
    known = _known(seen.comment_id for seen in records)
    decided = [decide(seen, known.get(seen.comment_id)) for seen in records]
    changed = [one for one in decided if one.step is Step.CHANGED]
    VERSIONS.insert_copies(Comment, COPIED, [(one.row.pk, reading.now, one.row.pk) for one in changed if one.row])
    titles = _titles([one for one in decided if one.step not in (Step.SAME, Step.HIDDEN)])
    new = [one for one in decided if one.step is Step.NEW]
    NEW.insert([(*_fixed(one, titles, reading), *_text(one, reading), *_state(one, reading)) for one in new])
    worded = [one for one in decided if one.step in (Step.CHANGED, Step.REVEALED)]
    CHANGED.update([(*_text(one, reading), *_state(one, reading), one.row.pk) for one in worded if one.row])
    same = [one for one in decided if one.row and one.step in (Step.SAME, Step.HIDDEN)]
    _refresh(same, reading)
    _erase_accounts(decided)
    _publish(decided, titles, reading)
    mark_erased(records, given, reading.now)
    updated = sum(one.is_changed for one in decided) - len(new)
    return Tally(len(new), updated, len(decided) - len(new) - updated, len(changed))


def _known(comment_ids: Iterable[str]) -> dict[str, KnownComment]:
    ids = list(comment_ids)
    rows = KNOWN.select(f"comment_id IN ({', '.join(['%s'] * len(ids))})", ids)
    return {row.comment_id: row for row in (KnownComment(*values) for values in rows)}


def _titles(decided: Sequence[Decided]) -> dict[str, str]:
    """Return titles of threads by comment. The title of a post that was erased here is not stored again."""
    posts = {one.record.post_id for one in decided}
    erased: set[str] = set()
    if posts:
        rows = PostRaw.objects.current().of(posts).exclude(blanked_at=None)
        erased = set(rows.values_list("source_post_id", flat=True))
    return {one.record.comment_id: "" if one.record.post_id in erased else _title(one) for one in decided}


def _title(one: Decided) -> str:
    """Rechecks give no title of the thread."""
    return one.record.thread_title or (one.row.thread_title if one.row else "")


def _fixed(one: Decided, titles: Mapping[str, str], reading: Reading) -> tuple[Any, ...]:
    seen = one.record
    return (
        seen.comment_id, seen.post_id, seen.parent_id, reading.community_of(seen), titles[seen.comment_id],
        seen.created_at, reading.now, str(reading.found(seen)),
    )  # fmt: skip


def _text(one: Decided, reading: Reading) -> tuple[Any, ...]:
    """Return values in the order of `TEXT`."""
    seen, row = one.record, one.row
    version = 1 if row is None else row.version + (one.step is Step.CHANGED)
    since = row.valid_from if row and one.step is Step.REVEALED else reading.now
    return (seen.text or "", seen.author, seen.text_norm_hash, version, since, None, dict(seen.extra_data))


def _state(one: Decided, reading: Reading) -> tuple[Any, ...]:
    """Return values in the order of `STATE`."""
    seen, row = one.record, one.row
    due, step = (row.recheck_due, row.recheck_step) if row else (None, 0)
    if row is None or reading.moves_recheck:
        due, step = next_recheck(seen.created_at, reading.now)
    is_listed = reading.is_new_listing or (row is not None and row.seen_in_new)
    return (
        seen.score, seen.edited_at, seen.removed_by_category, seen.author_deleted, is_listed, reading.now, reading.now,
        due, step, 0,
    )  # fmt: skip


def _refresh(same: Sequence[Decided], reading: Reading) -> None:
    """Write the state of comments whose text did not change; most of them were only seen again."""
    moved = [one for one in same if one.is_changed or reading.moves_recheck or _needs_row(one, reading)]
    SEEN.update([(*_state(one, reading), one.row.pk) for one in moved if one.row])
    written = {one.record.comment_id for one in moved}
    untouched = [one.row.pk for one in same if one.row and one.record.comment_id not in written]
    if untouched:
        Comment.objects.filter(pk__in=untouched).update(observed_at=reading.now)


def _needs_row(one: Decided, reading: Reading) -> bool:
    row = one.row
    return row is not None and bool(row.missing_looks or (reading.is_new_listing and not row.seen_in_new))


def _erase_accounts(decided: Sequence[Decided]) -> None:
    """Erase the author name of comments whose account was deleted."""
    if not options.HONOR_DELETIONS.value:
        return
    ids = [one.record.comment_id for one in decided if not one.record.author and one.row and one.row.author]
    if ids:
        Comment.objects.of(ids).update(author="")
        index.erase_authors(COMMENT_KIND, ids)


def _publish(decided: Sequence[Decided], titles: Mapping[str, str], reading: Reading) -> None:
    worded = [one.record for one in decided if one.record.text is not None and one.record.comment_id in titles]
    if worded:
        index.put(_document(seen, titles[seen.comment_id], reading.community_of(seen)) for seen in worded)
    same = [one for one in decided if one.step is Step.SAME and one.row and one.row.score != one.record.score]
    if same:
        index.set_scores(COMMENT_KIND, {one.record.comment_id: one.record.score for one in same})
    entries = list(_entries(decided, reading))
    if entries:
        record(entries)


def _document(seen: CommentRecord, title: str, community: str) -> index.Document:
    return _make_document(
        seen.comment_id, seen.post_id, title=title, community=community, text=seen.text or "", author=seen.author,
        score=seen.score, created_at=seen.created_at,
    )  # fmt: skip


def _make_document(
    comment_id: str, post_id: str, *, title: str, community: str, text: str, author: str, score: int,
    created_at: datetime,
) -> index.Document:  # fmt: skip
    """Return the search document: its title is that of the thread."""
    return index.Document(
        kind=COMMENT_KIND,
        object_id=comment_id,
        scope=SCOPE,
        title=title or community,
        body=f"{community}\n{text}",
        url_path=comment_path(post_id, comment_id),
        occurred_at=created_at,
        source=SYSTEM,
        attributes=_attributes(author, community, score),
    )


def _attributes(author: str, community: str, score: int) -> Attributes:
    return Attributes(author, community.removeprefix("r/"), "", score)


def search_attributes(ids: Collection[str]) -> dict[str, Attributes]:
    """Return author, community and score of stored comments."""
    rows = Comment.objects.of(ids).filter(blanked_at=None).only("comment_id", "author", "subreddit", "score")
    return {row.comment_id: _attributes(row.author, row.subreddit, row.score) for row in rows}


def _entries(decided: Sequence[Decided], reading: Reading) -> Iterator[Entry]:
    """Yield one entry per crawl for new comments, and one per comment that changed its text or state."""
    new = sum(one.step is Step.NEW for one in decided)
    if new and reading.found_by not in (FoundBy.BASELINE, FoundBy.IMPORT):
        yield Entry(
            source=SYSTEM, kind="commented", title=reading.community, summary=f"+{new}",
            url_path=comments_path(reading.community), scope=SCOPE, object_kind="reddit_community",
            object_id=reading.community, occurred_at=reading.now, data={"added": new},
            event_key=f"comments:{reading.found_by}:{reading.now:%Y%m%dT%H%M%S%f}",
        )  # fmt: skip
    for one in decided:
        kind = _kind(one)
        if kind:
            yield _entry(one, kind, reading)


def _kind(one: Decided) -> str:
    if one.row is None:
        return ""
    if one.record.is_gone != one.was_gone:
        return "comment_removed" if one.record.is_gone else "comment_restored"
    return "comment_edited" if one.step is Step.CHANGED else ""


def _entry(one: Decided, kind: str, reading: Reading) -> Entry:
    seen, community = one.record, reading.community_of(one.record)
    by = seen.removed_by_category or ("author" if seen.author_deleted else "")
    version = one.row.version + 1 if one.row else 1
    key = f"v{version}" if kind == "comment_edited" else f"{reading.now:%Y%m%dT%H%M%S}"
    title = community if kind == "comment_removed" else _title(one) or community
    return Entry(
        source=SYSTEM, kind=kind, title=title, summary=f"{community} {by}".strip(),
        url_path=comment_path(seen.post_id, seen.comment_id), scope=SCOPE, object_kind=COMMENT_KIND,
        object_id=seen.comment_id, occurred_at=reading.now, data={"community": community}, event_key=key,
    )  # fmt: skip


def next_to_erase() -> list[Comment]:
    return list(Comment.objects.to_erase().only("comment_id")[:BATCH])


def erase_comments(
    rows: Sequence[Comment], now: datetime, *, actor: object = None, reason: str = "deleted on Reddit"
) -> int:
    """Erase all versions of these comments and all copies, and write one audit row. Return the number of versions."""
    ids, pks = [row.comment_id for row in rows], [row.pk for row in rows]
    if not ids:
        return 0
    earlier = CommentVersion.objects.filter(comment_id__in=pks).update(content="")
    Comment.objects.filter(pk__in=pks).update(
        content="", author="", extra_data={}, blanked_at=now, updated_at=now, recheck_due=None
    )
    erase(COMMENT_KIND, ids)
    versions = earlier + len(ids)
    audit.record(
        "reddit.blanked", actor=actor, subject=f"{len(ids)} comments", comments=ids, versions=versions, reason=reason
    )
    return versions


def erase_thread_titles(post_ids: Sequence[str], now: datetime) -> None:
    """Erase the titles of erased posts in their comments, the search documents of these and what was notified."""
    named = Comment.objects.filter(post_id__in=post_ids).exclude(thread_title="").order_by("id")
    while rows := list(named[:BATCH]):
        ids = [row.comment_id for row in rows]
        Comment.objects.of(ids).update(thread_title="", updated_at=now)
        index.put(
            _make_document(
                row.comment_id, row.post_id, title="", community=row.subreddit, text=row.content, author=row.author,
                score=row.score, created_at=row.created_at,
            )
            for row in rows
            if not row.blanked_at and row.text_norm_hash
        )  # fmt: skip
        StreamEntry.objects.filter(object_kind=COMMENT_KIND, object_id__in=ids).update(title="")
        erase_deliveries(COMMENT_KIND, ids)
