from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.store import blobs
from watchbook.base.store.models import Blob

pytestmark = pytest.mark.django_db


def store(folder: Path, lines: list[str], successor_of: str | None = None) -> str:
    plain = folder / "plain"
    plain.write_bytes(b"".join(line.encode() + b"\n" for line in sorted(lines)))
    sha = blobs.digest(plain)
    blobs.put(plain, sha256=sha, line_count=len(lines), successor_of=successor_of)
    return sha


def read(sha: str) -> list[str]:
    return [line.decode() for line in blobs.lines(sha)]


def test_every_version_reads_back_as_it_was(tmp_path):
    versions = [
        [f"https://example.com/{n}\t2026-01-0{1 + n % 7}" for n in range(first, first + 900)] for first in range(8)
    ]
    shas: list[str] = []
    for version in versions:
        shas.append(store(tmp_path, version, shas[-1] if shas else None))
    for version, sha in zip(versions, shas, strict=True):
        assert read(sha) == sorted(version)
    assert Blob.objects.filter(base=None).count() == 2  # the first stays whole, and the newest
    assert Blob.objects.get(pk=shas[3]).stored_bytes < Blob.objects.get(pk=shas[-1]).stored_bytes / 4


def test_the_same_list_is_stored_once(tmp_path):
    first = store(tmp_path, ["a", "b"])
    assert store(tmp_path, ["a", "b"]) == first
    assert Blob.objects.count() == 1


def test_large_ones_live_in_files_and_small_ones_in_rows(tmp_path, settings, monkeypatch):
    settings.HOME = tmp_path
    monkeypatch.setattr(blobs, "IN_ROW_BYTES", 100)
    lines = [f"https://example.com/{n * 7919 % 100_003}" for n in range(5000)]
    sha = store(tmp_path, lines)
    assert Blob.objects.get(pk=sha).data is None
    assert read(sha) == sorted(lines)
    next(iter((tmp_path / "blobs").glob("*/*.zst"))).unlink()
    with pytest.raises(blobs.BlobMissing):
        read(sha)


def test_sweep_keeps_what_a_kept_one_is_built_on(tmp_path, noon):
    shas: list[str] = []
    for first in range(5):
        lines = [f"https://example.com/{n}" for n in range(first, first + 500)]
        shas.append(store(tmp_path, lines, shas[-1] if shas else None))
    Blob.objects.update(created_at=noon.replace(year=2025))
    assert blobs.sweep({shas[2]}) == 2  # 3 and 4 carry 2; 0 and 1 go
    assert read(shas[2])[0] == "https://example.com/10"
    assert sorted(Blob.objects.values_list("pk", flat=True)) == sorted(shas[2:])


def test_sweep_removes_old_files_that_no_row_names(tmp_path, noon):
    big = [f"https://example.com/{sha256(str(n).encode()).hexdigest()}" for n in range(40_000)]
    kept = store(tmp_path, big, None)
    named = blobs._file(kept)
    assert named.exists(), "too small to be a file of its own: this test shows nothing"
    lost, fresh = named.with_name(f"{kept[:2]}{'0' * 62}.zst"), named.with_name(f"{kept[:2]}{'1' * 62}.zst")
    for file in (lost, fresh):
        file.write_bytes(b"left behind")
    for file in (lost, named):
        os.utime(file, (0, 0))
    os.utime(fresh, (noon.timestamp(), noon.timestamp()))
    blobs.sweep({kept})
    assert named.exists()
    assert fresh.exists()
    assert not lost.exists()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sets(st.text("abc/\t", min_size=1, max_size=5), max_size=30), min_size=1, max_size=8))
def test_any_history_reads_back(tmp_path, history):
    Blob.objects.update(base=None, data=b"")
    Blob.objects.all().delete()
    shas: list[str] = []
    for version in history:
        shas.append(store(tmp_path, list(version), shas[-1] if shas else None))
    for version, sha in zip(history, shas, strict=True):
        assert read(sha) == sorted(version)
