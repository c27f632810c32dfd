from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.store import blobs
from watchbook.base.store import lists as stored
from watchbook.base.store.models import BlobReference, SortedList

pytestmark = pytest.mark.django_db


def store(folder: Path, lines: list[str], successor_of: str | None = None) -> str:
    plain = folder / "plain"
    plain.write_bytes(b"".join(line.encode() + b"\n" for line in sorted(lines)))
    sha = stored.digest(plain)
    stored.put(plain, sha256=sha, line_count=len(lines), successor_of=successor_of)
    return sha


def read(sha: str) -> list[str]:
    return [line.decode() for line in stored.lines(sha)]


def test_every_version_reads_back_as_it_was(tmp_path):
    versions = [
        [f"https://example.com/{n}\t2026-01-0{1 + n % 7}" for n in range(first, first + 900)] for first in range(8)
    ]
    shas: list[str] = []
    for version in versions:
        shas.append(store(tmp_path, version, shas[-1] if shas else None))
    for version, sha in zip(versions, shas, strict=True):
        assert read(sha) == sorted(version)
    assert SortedList.objects.filter(base=None).count() == 2  # the first stays whole, and the newest
    assert SortedList.objects.get(pk=shas[3]).stored_bytes < SortedList.objects.get(pk=shas[-1]).stored_bytes / 4


def test_same_list_is_stored_once(tmp_path):
    first = store(tmp_path, ["a", "b"])
    assert store(tmp_path, ["a", "b"]) == first
    assert SortedList.objects.count() == 1


@pytest.mark.parametrize("place", ["files", "database"])
def test_large_ones_live_in_blobs_and_small_ones_in_rows(tmp_path, settings, monkeypatch, place):
    settings.HOME, settings.BLOBS = tmp_path, place
    monkeypatch.setattr(stored, "IN_ROW_BYTES", 100)
    lines = [f"https://example.com/{n * 7919 % 100_003}" for n in range(5000)]
    sha = store(tmp_path, lines)
    kept = SortedList.objects.get(pk=sha)
    assert kept.data is None
    assert blobs.exists(kept.packed_sha256)
    assert read(sha) == sorted(lines)


def test_lost_list_is_named_and_repaired_when_it_is_stored_again(tmp_path, settings, monkeypatch):
    settings.HOME = tmp_path
    monkeypatch.setattr(stored, "IN_ROW_BYTES", 100)
    lines = [f"https://example.com/{n * 7919 % 100_003}" for n in range(5000)]
    sha = store(tmp_path, lines)
    next(path for path in (tmp_path / "blobs").glob("??/*")).unlink()
    assert stored.unreadable([sha]) == {sha}
    with pytest.raises(blobs.BlobMissing):
        read(sha)
    assert [blob.sha256 for blob in blobs.missing()] == [SortedList.objects.get(pk=sha).packed_sha256]
    store(tmp_path, lines)
    assert stored.unreadable([sha]) == set()
    assert read(sha) == sorted(lines)
    assert not list(blobs.missing())


def test_sweep_keeps_what_a_kept_one_is_built_on(tmp_path, noon):
    shas: list[str] = []
    for first in range(5):
        lines = [f"https://example.com/{n}" for n in range(first, first + 500)]
        shas.append(store(tmp_path, lines, shas[-1] if shas else None))
    SortedList.objects.update(created_at=noon.replace(year=2025))
    assert stored.sweep({shas[2]}) == 2  # 3 and 4 carry 2; 0 and 1 go
    assert read(shas[2])[0] == "https://example.com/10"
    assert sorted(SortedList.objects.values_list("pk", flat=True)) == sorted(shas[2:])


def test_blob_of_a_swept_or_shrunk_list_is_released(tmp_path, noon, monkeypatch):
    monkeypatch.setattr(stored, "IN_ROW_BYTES", 100)
    shas: list[str] = []
    for first in range(3):
        lines = [f"https://example.com/{n * 7919 % 100_003}" for n in range(first, first + 5000)]
        shas.append(store(tmp_path, lines, shas[-1] if shas else None))
    # The first stays whole, the second is a difference in its row now, the third is the newest.
    assert set(BlobReference.objects.values_list("owner_id", flat=True)) == {shas[0], shas[2]}
    SortedList.objects.update(created_at=noon.replace(year=2025))
    stored.sweep({shas[2]})
    assert set(BlobReference.objects.values_list("owner_id", flat=True)) == {shas[2]}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sets(st.text("abc/\t", min_size=1, max_size=5), max_size=30), min_size=1, max_size=8))
def test_any_history_reads_back(tmp_path, history):
    SortedList.objects.update(base=None, data=b"")
    SortedList.objects.all().delete()
    shas: list[str] = []
    for version in history:
        shas.append(store(tmp_path, list(version), shas[-1] if shas else None))
    for version, sha in zip(history, shas, strict=True):
        assert read(sha) == sorted(version)
