"""Object storage that speaks S3, for installations that have one. Needs the extra `s3`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

from watchbook.base.store import options
from watchbook.base.store.blobs.draft import CHUNK, BlobMissing, Draft, PlaceFailed

if TYPE_CHECKING:
    from obstore.store import S3Store

DEADLINE = timedelta(seconds=30)


class ObjectStorage:
    """One object per blob, named after its digest. An upload is visible only when it is whole."""

    name = "s3"

    def __init__(self) -> None:
        try:
            import obstore  # an extra: only where it is set
        except ImportError:
            raise PlaceFailed("WATCHBOOK_BLOBS is s3://. Install the extra: pip install 'watchbook[s3]'.") from None
        self._calls = obstore
        self._store = _store(
            str(settings.BLOBS),
            options.S3_ENDPOINT.value,
            options.S3_REGION.value,
            options.S3_KEY_ID.value,
            options.S3_SECRET.value,
        )

    def store(self, draft: Draft) -> None:
        with _failing_plainly():
            self._calls.put(self._store, _name(draft.sha256), draft.path)

    def size(self, sha256: str) -> int | None:
        with _failing_plainly():
            try:
                return int(self._calls.head(self._store, _name(sha256))["size"])
            except FileNotFoundError:
                return None

    def chunks(self, sha256: str, start: int = 0) -> Iterator[bytes]:
        with _failing_plainly():
            try:
                found = self._calls.get(self._store, _name(sha256))
            except FileNotFoundError:
                raise BlobMissing(f"The object of blob {sha256[:12]} is missing in {settings.BLOBS}.") from None
            for chunk in found.stream(min_chunk_size=CHUNK):
                data = bytes(chunk)[start:]
                start = max(start - len(chunk), 0)
                if data:
                    yield data

    def remove(self, sha256: str) -> None:
        with _failing_plainly():
            try:
                self._calls.delete(self._store, _name(sha256))
            except FileNotFoundError:
                pass  # it was removed before

    def contents(self) -> Iterator[tuple[str, int, float]]:
        with _failing_plainly():
            for batch in self._calls.list(self._store, chunk_size=500):
                for found in batch:
                    sha256 = found["path"].rpartition("/")[2]
                    if len(sha256) == 64:
                        yield sha256, int(found["size"]), found["last_modified"].timestamp()


def _name(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


@lru_cache(maxsize=2)
def _store(address: str, endpoint: str, region: str, key_id: str, secret: str) -> S3Store:
    """One client with its connections per process."""
    from obstore.store import S3Store  # an extra: only where it is set

    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    return S3Store(
        bucket,
        prefix=prefix or None,
        endpoint=endpoint or None,
        region=region,
        access_key_id=key_id,
        secret_access_key=secret,
        client_options={"allow_http": endpoint.startswith("http://"), "timeout": DEADLINE},
        retry_config={"max_retries": 2, "retry_timeout": DEADLINE},
    )


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """The errors of the storage as one sentence. Its own words can quote the request with its signature."""
    from obstore.exceptions import BaseError  # an extra: only where it is set

    try:
        yield
    except BaseError as error:
        raise PlaceFailed(f"The storage of WATCHBOOK_BLOBS failed ({type(error).__name__}).") from None
