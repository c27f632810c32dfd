"""Bytes by digest: put once, read anywhere, deleted when nothing uses them.

    blob = put(source)                          # bytes, a path, an open file or an iterable of bytes
    refer("page_picture", picture.pk, [blob.sha256])
    with opened(blob.sha256) as file: ...
    release("page_picture", [picture.pk])       # `clean` deletes the blob a day later

`put` and `refer` belong into the transaction of the rows that use the blob. The row is written before the content
gets its name, so `put` and `clean` wait for each other by the lock on the row; a killed `put` leaves at worst a file
that no row names, which `clean` finds. Where the content is kept (WATCHBOOK_BLOBS) is the business of `places`; a blob
is read from the place that its row names, so that the setting can change at any time.

BlobError
|-- BlobMissing   row or content is not there; put the same bytes again to repair it
|-- BlobDamaged   the content is not what the digest says; put the same bytes again after removing it
|-- BlobTooLarge  the source is longer than the limit; nothing was stored
`-- PlaceFailed   the place of the content cannot be used now; the sentence says why
"""

from watchbook.base.store.blobs.cleaning import Cleaned, clean
from watchbook.base.store.blobs.content import (
    LARGEST,
    exists,
    local_file,
    missing,
    opened,
    part,
    put,
    read,
    refer,
    release,
    size,
    stream,
)
from watchbook.base.store.blobs.draft import BlobDamaged, BlobError, BlobMissing, BlobTooLarge, PlaceFailed

__all__ = [
    "LARGEST",
    "BlobDamaged",
    "BlobError",
    "BlobMissing",
    "BlobTooLarge",
    "Cleaned",
    "PlaceFailed",
    "clean",
    "exists",
    "local_file",
    "missing",
    "opened",
    "part",
    "put",
    "read",
    "refer",
    "release",
    "size",
    "stream",
]
