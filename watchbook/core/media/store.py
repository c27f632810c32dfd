"""The only writer of kept files: what is wanted, what was fetched, what nothing shows any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from watchbook.base import clock
from watchbook.base.files import SIDES, Facts, make_thumbnail
from watchbook.base.store import blobs
from watchbook.base.store.folder import scratch
from watchbook.base.store.models import Blob
from watchbook.base.text import cut
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.media.models import PICTURE, FileReference, FileState, FileThumbnail, KeptFile

OWNER = "media"
BATCH = 500
MOST_OTHERS = 5
# Waits after a failure of the file itself; after the last one it has failed.
WAITS = (timedelta(minutes=10), timedelta(hours=2), timedelta(days=1))
# Two answers that a file does not exist, a day apart, make it gone.
GONE_WAIT = timedelta(days=1)
T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """A file that an item shows. `key` names it where its address changes; `use_before` is when the address ends."""

    url: str
    object_id: str
    position: int = 0
    role: str = PICTURE
    key: str = ""
    use_before: datetime | None = None
    others: tuple[str, ...] = ()
    referer: str = ""
    # As the source says; replaced by what is found.
    width: int | None = None
    height: int | None = None

    @property
    def digest(self) -> str:
        return sha256((self.key or self.url).encode("utf-8", "replace")).hexdigest()


def is_on(system: str) -> bool:
    """Whether this system keeps files now."""
    media = registry.source(system).media
    return media is not None and (not media.switch or bool(registry.load(media.switch).value))


@transaction.atomic
def want(system: str, wanted: Sequence[Wanted]) -> int:
    """Record the files of items; return how many were not known. A file that is known gets its newest address."""
    state = FileState.WAITING if is_on(system) else FileState.OFF
    known = 0
    for some in _pieces(wanted):
        rows = {each.digest: _row(each, state) for each in some}
        there = KeptFile.objects.filter(key__in=rows)
        before = set(there.values_list("key", flat=True))
        KeptFile.objects.bulk_create([row for key, row in rows.items() if key not in before], ignore_conflicts=True)
        # Locked: `release` deletes no file that gets a reference now.
        files = {file.key: file for file in there.select_for_update()}
        for key in before & files.keys():
            _refresh(files[key], rows[key])
        known += len(before)
        _refer(system, some, files)
    return len({each.digest for each in wanted}) - known


def _row(each: Wanted, state: FileState) -> KeptFile:
    return KeptFile(
        key=each.digest, url=each.url, others=[url for url in each.others if url != each.url][:MOST_OTHERS],
        referer=each.referer[:500], host=host_of(each.url), state=state, use_before=each.use_before,
        width=each.width, height=each.height, next_try_at=clock.now(),
    )  # fmt: skip


def host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "")[:200]
    except ValueError:
        return ""


def _refresh(file: KeptFile, newer: KeptFile) -> None:
    """Give a file that is not kept its newest address; with another address it is tried again."""
    if file.is_kept:
        return
    is_other = newer.url != file.url
    is_on_again = file.state == FileState.OFF and newer.state == FileState.WAITING
    if not is_other and not is_on_again and newer.use_before == file.use_before:
        return
    for name in ("url", "others", "referer", "host", "use_before"):
        setattr(file, name, getattr(newer, name))
    if is_on_again or (is_other and file.state in (FileState.GONE, FileState.FAILED)):
        file.state, file.attempts, file.last_error = FileState.WAITING, 0, ""
    if is_other or is_on_again:
        file.next_try_at = newer.next_try_at
    file.save()


def _refer(system: str, wanted: Sequence[Wanted], files: dict[str, KeptFile]) -> None:
    mine = FileReference.objects.filter(system=system, object_id__in={each.object_id for each in wanted})
    known = {(row.object_id, row.role, row.file_id): row for row in mine}
    made = []
    for each in wanted:
        file = files[each.digest]
        row = known.get((each.object_id, each.role, file.pk))
        if row is None:
            named = {"object_id": each.object_id, "role": each.role, "position": each.position}
            made.append(FileReference(file=file, system=system, **named))
        elif row.position != each.position:
            FileReference.objects.filter(pk=row.pk).update(position=each.position)
    FileReference.objects.bulk_create(made, ignore_conflicts=True)


def files_of(system: str, object_ids: Iterable[object]) -> dict[str, list[FileReference]]:
    """The files of these items by position, each with its file."""
    found: dict[str, list[FileReference]] = {}
    for some in _pieces([str(pk) for pk in object_ids]):
        rows = FileReference.objects.filter(system=system, object_id__in=some).select_related("file")
        for row in rows.order_by("position", "pk"):
            found.setdefault(row.object_id, []).append(row)
    return found


@transaction.atomic
def release(system: str, object_ids: Iterable[object]) -> int:
    """Remove the references of items that are deleted, and the files that nothing shows now. Returns these."""
    removed = 0
    for some in _pieces([str(pk) for pk in object_ids]):
        mine = FileReference.objects.filter(system=system, object_id__in=some)
        ids = set(mine.values_list("file_id", flat=True))
        mine.delete()
        removed += sum(_remove_unused(part) for part in _pieces(sorted(ids)))
    return removed


def _remove_unused(ids: Sequence[int]) -> int:
    locked = list(KeptFile.objects.filter(pk__in=ids).select_for_update().values_list("pk", flat=True))
    used = set(FileReference.objects.filter(file_id__in=locked).values_list("file_id", flat=True))
    unused = [pk for pk in locked if pk not in used]
    KeptFile.objects.filter(pk__in=unused).delete()
    blobs.release(OWNER, unused)
    return len(unused)


def visible_file(user: User, file_id: int) -> KeptFile | None:
    """A kept file of an item that this user may see; the system of the item decides."""
    file = KeptFile.objects.filter(pk=file_id, state=FileState.KEPT).first()
    known = {source.slug: source.media for source in registry.sources() if source.media}
    rows = FileReference.objects.filter(file_id=file_id, system__in=known).order_by("pk")
    last = 0
    # Some at a time: one picture may be in a hundred thousand posts, and the first of them is nearly always enough.
    while file is not None and (some := list(rows.filter(pk__gt=last)[:BATCH])):
        for system in {row.system for row in some}:
            if registry.load(known[system].visible)(user, [row.object_id for row in some if row.system == system]):
                return file
        last = some[-1].pk
    return None


def thumbnail(file: KeptFile, side: int) -> str:
    """Digest of a smaller picture, made when it is first asked for; empty where the file itself should be sent."""
    kept = FileThumbnail.objects.filter(file=file, side=side).values_list("sha256", flat=True).first()
    if kept or not file.is_picture or side not in SIDES:
        return kept or ""
    with scratch("thumbnail") as folder:
        target = folder / "thumbnail"
        if not make_thumbnail(blobs.local_file(file.sha256, folder), file.media_type, side, target):
            return ""
        blob = blobs.put(target)
    with transaction.atomic():
        if not KeptFile.objects.filter(pk=file.pk).select_for_update().exists():
            return ""
        FileThumbnail.objects.bulk_create(
            [FileThumbnail(file=file, side=side, sha256=blob.sha256)], ignore_conflicts=True
        )
        small = FileThumbnail.objects.filter(file=file).values_list("sha256", flat=True)
        blobs.refer(OWNER, file.pk, [file.sha256, *small])
    return blob.sha256


@transaction.atomic
def keep(file: KeptFile, blob: Blob, facts: Facts) -> bool:
    """Record the content of a file. False when nothing wants it any more."""
    if not KeptFile.objects.filter(pk=file.pk).select_for_update().exists():
        return False
    file.state, file.sha256, file.size, file.kept_at = FileState.KEPT, blob.sha256, blob.size, clock.now()
    file.media_type, file.last_error, file.is_picture = facts.media_type, "", facts.width is not None
    if facts.width is not None:
        file.width, file.height = facts.width, facts.height
    file.save()
    blobs.refer(OWNER, file.pk, [blob.sha256])
    return True


def too_large(file: KeptFile, limit: int, error: str) -> None:
    _waiting(file.pk).update(state=FileState.TOO_LARGE, size=limit, attempts=F("attempts") + 1, last_error=error)


def failed(file: KeptFile, error: str, *, is_gone: bool = False, is_final: bool = False) -> None:
    """Count a failure of the file itself: wait longer each time, then give up."""
    attempts = file.attempts + 1
    if is_gone and attempts >= 2:
        state, wait = FileState.GONE, GONE_WAIT
    elif is_final or attempts > len(WAITS):
        state, wait = FileState.FAILED, GONE_WAIT
    else:
        state, wait = FileState.WAITING, GONE_WAIT if is_gone else WAITS[attempts - 1]
    _waiting(file.pk).update(
        state=state, attempts=attempts, last_error=cut(error, 300), next_try_at=clock.now() + wait
    )  # fmt: skip


def delay(file: KeptFile, until: datetime, error: str = "") -> None:
    """Try it later: an outage is not the fault of the file and costs no attempt."""
    _waiting(file.pk).update(next_try_at=until, last_error=cut(error, 300))


def give_up_host(host: str, error: str) -> int:
    """Every waiting file of a host that has been away for too long has failed."""
    rows = KeptFile.objects.filter(host=host, state=FileState.WAITING)
    return rows.update(state=FileState.FAILED, last_error=cut(error, 300))


def turn_off(files: Sequence[KeptFile]) -> None:
    _waiting(*(file.pk for file in files)).update(state=FileState.OFF)


def queue_again(limit: int) -> int:
    """Queue what a changed setting allows now: files of systems that are on again, files below a larger limit."""
    on = [source.slug for source in registry.sources() if source.media and is_on(source.slug)]
    shown = FileReference.objects.filter(file=OuterRef("pk"), system__in=on)
    allowed = Q(state=FileState.OFF) | Q(state=FileState.TOO_LARGE, size__lt=limit)
    rows = KeptFile.objects.filter(allowed).filter(Exists(shown))
    return rows.update(state=FileState.WAITING, attempts=0, last_error="", next_try_at=clock.now())


def ask_again(file_ids: Sequence[int]) -> int:
    """Queue failed and gone files again because a user asked."""
    rows = KeptFile.objects.filter(pk__in=file_ids, state__in=[FileState.FAILED, FileState.GONE])
    return rows.update(state=FileState.WAITING, attempts=0, last_error="", next_try_at=clock.now())


def _waiting(*ids: int) -> QuerySet[KeptFile]:
    return KeptFile.objects.filter(pk__in=ids, state=FileState.WAITING)


def _pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
