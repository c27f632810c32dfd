"""Which blobs the rows of a backup refer to, which of them are inside, and which are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from watchbook.base.store import blobs
from watchbook.base.store.models import Blob
from watchbook.core.ops.backup.archive import Beat, CannotRestore, Damaged, Manifest, Member, blob_member

# Digest, size, place and bytes in the database of each blob with a reference. Runs in the snapshot of the backup, on
# all three databases.
STATEMENT = (
    "SELECT b.sha256, b.size, b.place, COALESCE((SELECT SUM(LENGTH(c.data)) FROM stored_blob_chunks c"
    " WHERE c.blob_id = b.sha256), 0) FROM stored_blobs b WHERE b.size > 0 AND EXISTS"
    " (SELECT 1 FROM stored_blob_references r WHERE r.blob_id = b.sha256) ORDER BY b.sha256"
)


def outside(rows: Iterable[tuple[Any, ...]]) -> dict[str, int]:
    """Digest -> size of the blobs that are not in the database itself."""
    return {sha256: int(size) for sha256, size, place, _ in rows if place != "database"}


def incomplete(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Blobs in the database whose rows are not there in full."""
    return [sha256 for sha256, size, place, found in rows if place == "database" and int(found) != int(size)]


def collect(sizes: Mapping[str, int], folder: Path, beat: Beat) -> None:
    """Copy the blobs that are not linked yet, such as those in object storage. One that cannot be read stays out."""
    for sha256, size in sizes.items():
        target = folder / sha256[:2] / sha256
        if target.exists() and target.stat().st_size == size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            with target.open("xb") as out:
                for chunk in blobs.stream(sha256):
                    out.write(chunk)
                    beat()
        except blobs.BlobError:
            target.unlink(missing_ok=True)


def missing(sizes: Mapping[str, int], members: Mapping[str, Member]) -> list[str]:
    """Blobs that are not inside as they were stored: absent, cut short or changed."""
    return [sha256 for sha256, size in sizes.items() if members.get(blob_member(sha256)) != Member(size, sha256)]


def refuse_incomplete(manifest: Manifest, *, allowed: bool) -> None:
    """Raise unless every blob that the rows need is inside; those known to be missing can be allowed."""
    lost = set(missing(manifest.blob_sizes, manifest.members)) - set(manifest.missing_blobs)
    if lost:
        raise Damaged(f"The backup does not contain blob {min(lost)[:12]}, which its manifest promises.")
    if manifest.missing_blobs and not allowed:
        raise CannotRestore(
            f"This backup lacks {len(manifest.missing_blobs)} blobs that were missing when it was made, such as"
            f" {manifest.missing_blobs[0][:12]}. Restore another backup, or repeat with --incomplete."
        )


def note_places(manifest: Manifest) -> None:
    """The blobs of the backup are files now, wherever they were when it was made."""
    restored = [sha256 for sha256 in manifest.blob_sizes if blob_member(sha256) in manifest.members]
    for start in range(0, len(restored), 500):
        Blob.objects.filter(pk__in=restored[start : start + 500]).exclude(place="files").update(place="files")
