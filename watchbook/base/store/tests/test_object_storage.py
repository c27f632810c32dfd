"""Blobs in S3-compatible storage, through the real client and a stand-in that checks every signature."""

from __future__ import annotations

from datetime import timedelta

import pytest

from standins.object_storage import BUCKET, KEY_ID, SECRET, ObjectStorage
from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.base.store.models import Blob

pytestmark = pytest.mark.django_db
SHORT, LONG = b"short", bytes(range(256)) * 60_000  # 15 MB go up in parts


@pytest.fixture
def storage(monkeypatch, settings, tmp_path):
    with ObjectStorage() as made:
        settings.HOME, settings.BLOBS = tmp_path, f"s3://{BUCKET}/team"
        monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        yield made


def name_of(blob: Blob) -> str:
    return f"team/{blob.sha256[:2]}/{blob.sha256}"


@pytest.mark.parametrize("content", [SHORT, LONG], ids=["short", "long"])
def test_content_is_stored_as_an_object_and_read_back(storage, content, tmp_path):
    blob = blobs.put(content)
    assert storage.objects == {name_of(blob): content}
    assert (blob.place, blobs.exists(blob.sha256)) == ("s3", True)
    assert b"".join(blobs.stream(blob.sha256)) == content
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()], "nothing stays on the disk"


def test_lost_object_is_missing_until_it_is_put_again(storage):
    blob = blobs.put(SHORT)
    blobs.refer("test", 1, [blob.sha256])
    storage.lose(name_of(blob))
    assert list(blobs.missing()) == [blob]
    with pytest.raises(blobs.BlobMissing):
        blobs.read(blob.sha256, limit=99)
    blobs.put(SHORT)
    assert not list(blobs.missing())


def test_clean_deletes_unused_objects_and_those_that_no_row_names(storage):
    used, unused = blobs.put(b"used"), blobs.put(b"unused")
    blobs.refer("test", 1, [used.sha256])
    Blob.objects.update(put_at=clock.now() - timedelta(days=2))
    orphan = f"team/00/{'0' * 64}"
    storage.objects[orphan] = b"left behind"
    storage.changed_at[orphan] = clock.now() - timedelta(days=2)
    assert blobs.clean().blobs == 2
    assert list(storage.objects) == [name_of(used)]
    assert not Blob.objects.filter(pk=unused.pk).exists()


def test_wrong_key_is_one_sentence_without_the_key(storage, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    with pytest.raises(blobs.PlaceFailed) as failed:
        blobs.put(SHORT)
    assert "WATCHBOOK_BLOBS" in str(failed.value)
    assert "another-secret" not in str(failed.value)
    assert not Blob.objects.exists(), "a failed put leaves no row"
    assert not storage.objects
