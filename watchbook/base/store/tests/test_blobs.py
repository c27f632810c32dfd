from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import tracemalloc
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connections, transaction

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.base.store.blobs import places
from watchbook.base.store.models import Blob, BlobChunk, BlobReference

SHORT = b"short"


@pytest.fixture(params=["files", "database"])
def place(request, settings, tmp_path):
    settings.HOME, settings.BLOBS = tmp_path, request.param
    return request.param


def pieces(count: int):
    for n in range(count):
        yield bytes([n % 256]) * 300_000


@pytest.mark.django_db
@pytest.mark.sql
def test_every_kind_of_source_reads_back_by_its_digest(place, tmp_path):
    long = b"".join(pieces(5))
    (tmp_path / "source").write_bytes(long)
    digests = {
        blobs.put(long).sha256,
        blobs.put(tmp_path / "source").sha256,
        blobs.put((tmp_path / "source").open("rb")).sha256,
        blobs.put(pieces(5)).sha256,
    }
    assert digests == {hashlib.sha256(long).hexdigest()}
    [sha256] = digests
    assert Blob.objects.get().place == place
    assert (blobs.size(sha256), blobs.exists(sha256)) == (len(long), True)
    assert b"".join(blobs.stream(sha256)) == long
    with blobs.opened(sha256) as file:
        assert (file.read(300_001), file.read()) == (long[:300_001], long[300_001:])
    assert blobs.local_file(sha256, tmp_path).read_bytes() == long


@pytest.mark.django_db
def test_empty_content_is_a_blob(place, tmp_path):
    sha256 = blobs.put(b"").sha256
    assert blobs.exists(sha256)
    assert blobs.read(sha256, limit=0) == b""


@pytest.mark.django_db
def test_content_above_the_limit_stores_nothing(place, tmp_path):
    with pytest.raises(blobs.BlobTooLarge):
        blobs.put(pieces(3), limit=800_000)
    assert not Blob.objects.exists()
    assert not list((tmp_path / "blobs").iterdir())
    stored = blobs.put(SHORT)
    with pytest.raises(blobs.BlobTooLarge):
        blobs.read(stored.sha256, limit=4)


@pytest.mark.django_db
def test_memory_stays_flat_while_a_large_blob_is_put_and_read(place):
    tracemalloc.start()
    try:
        sha256 = blobs.put(pieces(100)).sha256
        assert sum(len(chunk) for chunk in blobs.stream(sha256)) == 30_000_000
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.django_db
def test_put_repairs_content_that_is_gone_or_cut_short(place):
    sha256 = blobs.put(SHORT).sha256
    blobs.refer("test", 1, [sha256])
    for harm in (lambda: _lose(sha256), lambda: _cut(sha256)):
        harm()
        assert [blob.sha256 for blob in blobs.missing()] == [sha256]
        blobs.put(SHORT)
        assert not list(blobs.missing())
        assert blobs.read(sha256, limit=99) == SHORT


def _lose(sha256: str) -> None:
    places.named(Blob.objects.get(pk=sha256).place).remove(sha256)


def _cut(sha256: str) -> None:
    if Blob.objects.get(pk=sha256).place == "database":
        BlobChunk.objects.update(data=b"sho")
    else:
        places.Files.path(sha256).write_bytes(b"sho")


@pytest.mark.django_db
def test_changed_content_is_not_passed_on_as_whole(place):
    sha256 = blobs.put(SHORT).sha256
    BlobChunk.objects.update(data=b"shorn")
    if place == "files":
        places.Files.path(sha256).write_bytes(b"shorn")
    with pytest.raises(blobs.BlobDamaged):
        blobs.read(sha256, limit=99)


@pytest.mark.django_db
def test_blob_stays_readable_after_the_setting_changed(settings, tmp_path):
    settings.HOME, settings.BLOBS = tmp_path, "files"
    sha256 = blobs.put(SHORT).sha256
    settings.BLOBS = "database"
    assert blobs.read(sha256, limit=99) == SHORT
    assert blobs.put(SHORT).place == "files", "what is there is stored no second time"


@pytest.mark.django_db
def test_clean_deletes_only_old_blobs_without_a_reference(place, noon):
    used, unused, young = (blobs.put(text) for text in (b"used", b"unused", b"young"))
    blobs.refer("page", 7, [used.sha256])
    Blob.objects.exclude(pk=young.pk).update(put_at=clock.now() - timedelta(days=2))
    assert blobs.clean().blobs == 1
    assert not blobs.exists(unused.sha256)
    assert places.named(place).size(unused.sha256) is None
    assert blobs.exists(used.sha256)
    assert blobs.exists(young.sha256)
    blobs.release("page", [7])
    assert blobs.clean().blobs == 1
    assert set(Blob.objects.all()) == {young}


@pytest.mark.django_db
def test_references_follow_what_the_owner_uses(place):
    first, second = (blobs.put(text).sha256 for text in (b"1", b"2"))
    blobs.refer("page", 7, [first, second])
    blobs.refer("page", 7, [second])
    blobs.refer("page", 7, [second])
    assert list(BlobReference.objects.values_list("blob_id", flat=True)) == [second]
    with pytest.raises(blobs.BlobMissing):
        blobs.refer("page", 8, ["0" * 64])


@pytest.mark.django_db
def test_old_blob_is_safe_for_a_day_once_it_is_put_or_referenced_again(place):
    first, second = (blobs.put(text).sha256 for text in (b"1", b"2"))
    Blob.objects.update(put_at=clock.now() - timedelta(days=2))
    blobs.put(b"1")
    blobs.refer("page", 7, [second])
    blobs.release("page", [7])
    assert blobs.clean().blobs == 0
    assert blobs.exists(first)
    assert blobs.exists(second)


@pytest.mark.django_db
def test_clean_removes_old_files_that_no_row_names(settings, tmp_path):
    settings.HOME, settings.BLOBS = tmp_path, "files"
    kept = blobs.put(SHORT).sha256
    folder = tmp_path / "blobs" / "00"
    folder.mkdir()
    lost, fresh, draft = folder / ("0" * 64), folder / ("0" * 63 + "1"), tmp_path / "blobs" / ".draft-1"
    for file in (lost, fresh, draft):
        file.write_bytes(b"left behind")
    for file in (lost, draft, places.Files.path(kept)):
        os.utime(file, (0, 0))
    done = blobs.clean()
    assert (done.orphans, done.drafts, done.blobs) == (1, 1, 1)
    assert [file.exists() for file in (lost, fresh, draft)] == [False, True, False]
    assert blobs.exists(kept)


PUT = """
import django
django.setup()
from watchbook.base.store import blobs
print(blobs.put(iter([b"a" * 300_000] * 5)).sha256)
"""


@pytest.mark.crash
@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("place", "point"), [("files", "blobs.drafted"), ("files", "blobs.named"), ("database", "blobs.chunk:2")]
)
def test_killed_put_leaves_nothing_that_counts_and_can_be_repeated(place, point, settings, tmp_path):
    settings.HOME, settings.BLOBS = tmp_path, place
    assert _child(place, CRASH_AT=point).returncode == -9
    assert not Blob.objects.exists()
    assert not BlobChunk.objects.exists()
    sha256 = _child(place).stdout.split()[-1]
    assert b"".join(blobs.stream(sha256)) == b"a" * 1_500_000


def _child(place: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "WATCHBOOK_BLOBS": place, "DJANGO_SETTINGS_MODULE": "watchbook.project.settings", **more}
    env |= {"DATABASE_URL": _test_database_url(), "WATCHBOOK_HOME": str(settings.HOME)}
    return subprocess.run([sys.executable, "-c", PUT], env=env, capture_output=True, text=True, timeout=60)


def _test_database_url() -> str:
    name = connections["default"].settings_dict["NAME"]
    if connections["default"].vendor == "sqlite":
        return f"sqlite:///{name}"
    start, _, rest = os.environ["DATABASE_URL"].rpartition("/")
    return f"{start}/{name}{'?' + rest.partition('?')[2] if '?' in rest else ''}"


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", ["files", "database"])
def test_same_bytes_put_twice_in_parallel_are_stored_once(place, settings):
    settings.BLOBS = place
    met = threading.Barrier(2)

    def put() -> None:
        try:
            met.wait(10)
            with transaction.atomic():
                found.append(blobs.put(pieces(4)).sha256)
        finally:
            connections.close_all()

    found: list[str] = []
    both = [threading.Thread(target=put) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(found) == 2
    assert len(set(found)) == 1
    assert b"".join(blobs.stream(found[0])) == b"".join(pieces(4))
    assert BlobChunk.objects.count() == (3 if place == "database" else 0)


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
def test_put_waits_for_clean_and_stores_the_deleted_content_again(settings, monkeypatch):
    """The other order would lose the content: `clean` deletes the file of a blob that was just put again."""
    settings.BLOBS = "files"
    sha256 = blobs.put(SHORT).sha256
    Blob.objects.update(put_at=clock.now() - timedelta(days=2))
    remove, put_began, threads = places.Files.remove, threading.Event(), []

    def put_meanwhile(self, digest):
        thread = threading.Thread(target=put)
        thread.start()
        threads.append(thread)
        put_began.wait(10)
        remove(self, digest)

    def put() -> None:
        put_began.set()
        try:
            blobs.put(SHORT)
        finally:
            connections.close_all()

    monkeypatch.setattr(places.Files, "remove", put_meanwhile)
    assert blobs.clean().blobs == 1
    threads[0].join()
    assert blobs.read(sha256, limit=99) == SHORT
