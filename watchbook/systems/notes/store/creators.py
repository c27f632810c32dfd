"""Followed creators: added, changed, deleted, and what a check of their notes brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from watchbook.base.crypto import DecryptionError, Writing, decrypt, encrypt, reencrypt
from watchbook.base.text import cut
from watchbook.base.work import crash_point
from watchbook.core.erase import erase
from watchbook.core.search import index
from watchbook.systems.notes import options
from watchbook.systems.notes.encryption import author_hash
from watchbook.systems.notes.models import Candidate, Creator, Execution
from watchbook.systems.notes.parse.records import CardRecord
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, NotesError
from watchbook.systems.notes.store import Holder, candidates, renew
from watchbook.systems.notes.store.candidates import FoundNote
from watchbook.systems.notes.store.documents import SCOPE, SOURCE

KIND = "note_creator"
MOST_MARKS = 30


@dataclass(frozen=True)
class Listing:
    """What one check read, newest first. `error` ended it early; then only the notes count."""

    cards: Sequence[CardRecord] = ()
    pinned: frozenset[str] = frozenset()
    name: str = ""
    # It met a note of the last check, or the end of the listing.
    is_joined: bool = False
    is_end: bool = False
    error: NotesError | None = None
    retry_minutes: int | None = None


@dataclass(frozen=True)
class Checked:
    """How one check went."""

    creator_id: int
    found: int = 0
    added: int = 0
    possible_gap: bool = False
    error: dict[str, Any] | None = None
    # The next creator would fail the same way.
    stop: bool = False


def bound_to(row: Creator) -> str:
    return f"notes_creators\0{row.author_hash}"


def platform_id(row: Creator) -> str:
    """The platform's ID of a creator; empty when the key that encrypted it is missing."""
    return _decrypted(row, row.platform_id)


def token(row: Creator) -> str:
    return _decrypted(row, row.xsec_token)


def _decrypted(row: Creator, encrypted: str) -> str:
    try:
        return decrypt(encrypted, bound_to=bound_to(row)) if encrypted else ""
    except DecryptionError:
        return ""


@transaction.atomic
def put(user_id: str, given: dict[str, Any], tokens: tuple[str, str], now: datetime) -> tuple[Creator, bool]:
    """Add a creator, or return the one that is followed already, with the newer token. Returns whether it is new."""
    row = Creator(
        author_hash=author_hash(user_id), platform=DEFAULT_PLATFORM, created_at=now, next_check_at=now, **given
    )
    row.platform_id = encrypt(user_id, bound_to=bound_to(row))
    if tokens[0]:
        row.xsec_token, row.xsec_source = encrypt(tokens[0], bound_to=bound_to(row)), tokens[1]
    names = ("platform_id", "xsec_token", "xsec_source", "created_at", "next_check_at", *given)
    made, is_new = Creator.objects.get_or_create(
        platform=row.platform, author_hash=row.author_hash, defaults={name: getattr(row, name) for name in names}
    )
    if not is_new:
        made.platform_id = row.platform_id
        if tokens[0]:
            made.xsec_token, made.xsec_source = row.xsec_token, row.xsec_source
        made.save(update_fields=["platform_id", "xsec_token", "xsec_source"])
    index.put([document(made)])
    return made, is_new


@transaction.atomic
def change(row: Creator, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=list(values))
    index.put([document(row)])


@transaction.atomic
def delete(row: Creator) -> None:
    """Delete a creator. The candidates and notes that were found stay."""
    erase(KIND, [row.pk])
    row.delete()


def document(row: Creator) -> index.Document:
    return index.Document(
        kind=KIND, object_id=str(row.pk), scope=SCOPE, title=row.title, body=row.name,
        url_path=f"/notes/creators/{row.pk}/", occurred_at=row.created_at, source=SOURCE,
    )  # fmt: skip


def store_check(holder: Holder, creator: Creator, read: Listing, now: datetime) -> Checked:
    """Write the candidates of one check and where it ended, in one transaction under the fence of the run."""
    with transaction.atomic():
        renew(holder, now)
        row = Creator.objects.select_for_update().filter(pk=creator.pk).first()
        if row is None:  # deleted in between
            return Checked(creator.pk)
        stored = candidates.store_found(list(_found(row, read.cards)), now)
        is_whole = read.error is None
        has_gap = is_whole and bool(row.marks) and not (read.is_joined or read.is_end)
        columns = {**_columns(row, read, now), "found_count": row.found_count + stored.added}
        if has_gap:
            columns |= {"possible_gap": True, "gap_at": now, "gap_count": row.gap_count + 1}
        change(row, columns)
        figure = "items_processed" if is_whole else "items_failed"
        Execution.objects.filter(execution_id=holder.execution_id).update(**{figure: F(figure) + 1})
        crash_point("notes.creator_checked")
    error = read.error.as_json() if read.error else None
    return Checked(row.pk, len(read.cards), stored.added, has_gap, error)


def _columns(row: Creator, read: Listing, now: datetime) -> dict[str, Any]:
    every = row.every_minutes or options.CREATOR_EVERY.value
    columns: dict[str, Any] = {
        "last_check_at": now,
        "next_check_at": now + timedelta(minutes=read.retry_minutes or every),
        "last_error": cut(str(read.error), 300) if read.error else "",
        "name": cut(read.name, 100) or row.name,
    }
    if read.error:
        return columns
    fresh = [card.note_id for card in read.cards if card.note_id not in read.pinned]
    columns |= {"last_success_at": now, "marks": _marks(fresh, row.marks, read), "wants_full": False}
    # Only the whole listing shows that nothing is missing.
    return columns | ({"possible_gap": False} if read.is_end else {})


def _marks(fresh: list[str], known: list[str], read: Listing) -> list[str]:
    kept = known if read.is_joined or not fresh else []
    return list(dict.fromkeys([*fresh, *kept]))[:MOST_MARKS]


def _found(row: Creator, cards: Iterable[CardRecord]) -> Iterable[FoundNote]:
    base = options.PAGE_URL.value.rstrip("/")
    for card in cards:
        yield FoundNote(
            note_id=card.note_id, platform=row.platform, note_url=f"{base}/explore/{card.note_id}",
            xsec_token=card.xsec_token, xsec_source="pc_user", title=card.title, creator_pk=row.pk,
        )  # fmt: skip


def reencrypt_values(writing: Writing) -> Iterator[tuple[str, str]]:
    """Re-encrypt what this system keeps with the keys of the server. Cookies have keys of their own: `encryption`."""
    yield from reencrypt(Candidate.objects.all(), "xsec_token", candidates.bound_to, writing)
    for column in ("platform_id", "xsec_token"):
        yield from reencrypt(Creator.objects.all(), column, bound_to, writing)
