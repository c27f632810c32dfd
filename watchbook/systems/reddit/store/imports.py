"""Stores posts and comments of dumps. A dump is older than what crawls store: it never replaces a newer text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from watchbook.base.store.rows import Columns
from watchbook.base.work import crash_point
from watchbook.systems.reddit.models import Comment, CommentVersion, DumpImport, FoundBy, PostRaw, PostSpan
from watchbook.systems.reddit.models.posts import SOURCE
from watchbook.systems.reddit.parse import CommentRecord, DumpedItem, Item, PostRecord
from watchbook.systems.reddit.records import Tally
from watchbook.systems.reddit.store.decide import Reading
from watchbook.systems.reddit.store.kinds import KINDS, OF_COMMENTS, OF_POSTS, ListingKind

ERASED = "erased here"
BETWEEN = "between two stored versions"
# Imported items are rechecked once, 100 per minute, so that rechecks of new posts do not wait for them.
RECHECKS_PER_MINUTE = 100
POST_TIMES = Columns(PostRaw, ["observed_at", "valid_from", "recheck_due"])
COMMENT_TIMES = Columns(Comment, ["observed_at", "valid_from", "recheck_due"])
SPAN_TIMES = Columns(PostSpan, ["valid_from"])


class ImportInterrupted(Exception):
    """Raised if another process imports the same file."""


@dataclass(frozen=True)
class Placed:
    """An item of a dump with its community as the list writes it."""

    dumped: DumpedItem
    community: str

    @property
    def item_id(self) -> str:
        return self.dumped.item.item_id


@transaction.atomic
def store_batch(
    row: DumpImport, batch: Sequence[Placed], skipped: Counter[str], *, lines: int, now: datetime
) -> DumpImport:
    """Store some lines and move the position of the import past them. Return the row of the import."""
    locked = DumpImport.objects.select_for_update().get(pk=row.pk)
    if locked.lines != row.lines:
        raise ImportInterrupted
    reasons, total = Counter(locked.skipped) + skipped, Tally()
    for kind in KINDS:
        wanted = PostRecord if kind is OF_POSTS else CommentRecord
        # The last line of an item in a batch wins, as the last line of a file does.
        own = {one.item_id: one for one in batch if isinstance(one.dumped.item, wanted)}
        if own:
            total.add(_store(kind, own, reasons, locked.lines, now))
    locked.lines, locked.skipped, locked.updated_at = lines, dict(reasons), now
    locked.new, locked.updated = locked.new + total.new, locked.updated + total.updated
    locked.unchanged, locked.versions = locked.unchanged + total.duplicates, locked.versions + total.versions
    locked.save()
    crash_point("reddit.import_batch")
    return locked


def _store(kind: ListingKind, own: dict[str, Placed], reasons: Counter[str], lines: int, now: datetime) -> Tally:
    kind.lock_all(one.community for one in own.values())
    known = {getattr(stored, kind.id_column): stored for stored in kind.rows().of(own)}
    new, total = [one for key, one in own.items() if key not in known], Tally()
    later = []
    hashes = _hashes(kind, known)
    for key, stored in known.items():
        seen = own[key].dumped
        if stored.blanked_at is not None:
            reasons[ERASED] += 1
        elif seen.item.text is None or seen.item.text_norm_hash in hashes[key]:
            total.duplicates += 1
        elif seen.retrieved_at is not None and seen.retrieved_at > stored.observed_at:
            later.append(own[key])
        elif seen.retrieved_at is not None and seen.retrieved_at < stored.first_seen_at:
            (_prepend_post if kind is OF_POSTS else _prepend_comment)(stored, seen.item, seen.retrieved_at, now)
            total.add(Tally(updated=1, versions=1))
        else:
            reasons[BETWEEN] += 1
    total.add(_store_items(kind, [*new, *later], now))
    _set_times(kind, new, lines, now)
    return total


def _store_items(kind: ListingKind, items: Sequence[Placed], now: datetime) -> Tally:
    homes = {one.item_id: one.community for one in items}
    reading = Reading("", now, FoundBy.IMPORT, is_new_listing=False, by_id=homes)
    return kind.store([one.dumped.item for one in items], reading)


def _hashes(kind: ListingKind, known: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the texts of all stored versions by ID, as hashes."""
    found = {key: {stored.text_norm_hash} for key, stored in known.items()}
    rows: Iterable[tuple[str, str]] = ()
    if known and kind is OF_POSTS:
        rows = PostRaw.objects.of(known).values_list("source_post_id", "text_norm_hash")
    elif known:
        versions = CommentVersion.objects.filter(comment__comment_id__in=list(known))
        rows = versions.values_list("comment__comment_id", "text_norm_hash")
    for key, digest in rows:
        found[key].add(digest)
    return found


def _set_times(kind: ListingKind, new: Iterable[Placed], lines: int, now: datetime) -> None:
    """Write when the dump was read instead of now, and the one recheck that finds what was deleted since then."""
    read_at = {one.item_id: one.dumped.retrieved_at or now for one in new}
    if not read_at:
        return
    due = now + timedelta(minutes=lines // RECHECKS_PER_MINUTE)
    rows = list(kind.rows().of(read_at).values_list(kind.id_column, "pk"))
    times = COMMENT_TIMES if kind is OF_COMMENTS else POST_TIMES
    times.update([(read_at[key], read_at[key], due, pk) for key, pk in rows])
    if kind is OF_POSTS:
        at = {pk: read_at[key] for key, pk in rows}
        spans = PostSpan.objects.filter(post_id__in=at).values_list("post_id", "pk")
        SPAN_TIMES.update([(at[post], pk) for post, pk in spans])


def _prepend_comment(stored: Comment, item: Item, read_at: datetime, now: datetime) -> None:
    """Put the text before all stored versions: their numbers grow by one."""
    first = stored.versions.order_by("version").first()
    until = first.valid_from if first else stored.valid_from
    for version in stored.versions.order_by("-version"):
        version.version += 1
        version.save(update_fields=["version"])
    CommentVersion.objects.create(
        comment=stored, version=1, content=item.text or "", text_norm_hash=item.text_norm_hash, valid_from=read_at,
        valid_to=until,
    )  # fmt: skip
    Comment.objects.filter(pk=stored.pk).update(version=F("version") + 1, updated_at=now)


def _prepend_post(stored: PostRaw, item: Item, read_at: datetime, now: datetime) -> None:
    """Put the text before all stored versions: their numbers grow by one."""
    post_id = stored.source_post_id
    assert isinstance(item, PostRecord)
    spans = list(PostSpan.objects.filter(source_post_id=post_id).order_by("-version"))
    until = spans[-1].valid_from if spans else stored.valid_from
    for span in spans:
        span.version += 1
        span.save(update_fields=["version"])
    PostRaw.objects.of([post_id]).update(version=F("version") + 1, updated_at=now)
    made = PostRaw.objects.create(
        source=SOURCE, source_post_id=post_id, subreddit=stored.subreddit, title=item.title, content=item.text or "",
        author=item.author if stored.author else "", created_at=item.created_at, text_norm_hash=item.text_norm_hash,
        version=1, is_current=False, first_seen_at=stored.first_seen_at, valid_from=read_at, valid_to=until,
        observed_at=read_at, updated_at=now, found_by=FoundBy.IMPORT, seen_in_new=False, score=item.score,
    )  # fmt: skip
    PostSpan.objects.create(post=made, source_post_id=post_id, version=1, valid_from=read_at, valid_to=until)
