"""Blobs in backups, through the real commands."""

from __future__ import annotations

import json

import pytest

from watchbook.core.ops.tests.processes import run
from watchbook.core.ops.tests.test_backup import backed_up, databases, filled, python

__all__ = ["databases"]

PUT_BLOB = """
import django
django.setup()
from django.db import transaction
from watchbook.base.store import blobs
with transaction.atomic():
    blob = blobs.put(b"picture " * 200_000)
    blobs.refer("test", 1, [blob.sha256])
print(blob.sha256)
"""
READ_BLOB = """
import django
django.setup()
from watchbook.base.store import blobs
from watchbook.base.store.models import BlobReference
print(len(blobs.read(BlobReference.objects.get().blob_id, limit=10**8)))
"""


# On a server each restore runs every migration. What lies in files is the same there: every day on SQLite only.
@pytest.mark.parametrize("place", [pytest.param("files", marks=pytest.mark.portable), "database"])
def test_restored_backup_has_every_blob_that_rows_refer_to(place, tmp_path, databases):
    source, target = databases
    filled(tmp_path / "old", 5, **source)
    python(tmp_path / "old", PUT_BLOB, WATCHBOOK_BLOBS=place, **source)
    taken = backed_up(tmp_path / "old", str(tmp_path / "b.tar"), **source)
    assert taken["missing_blobs"] == []
    done = run(tmp_path / "new", "restore", str(tmp_path / "b.tar"), **target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert python(tmp_path / "new", READ_BLOB, **target).strip() == "1600000"


@pytest.mark.portable
def test_missing_blob_is_named_by_doctor_and_backup_and_stops_the_restore(tmp_path, databases):
    source, target = databases
    filled(tmp_path / "old", 5, **source)
    sha256 = python(tmp_path / "old", PUT_BLOB, WATCHBOOK_BLOBS="files", **source).strip()
    (tmp_path / "old" / "blobs" / sha256[:2] / sha256).unlink()

    checks = json.loads(run(tmp_path / "old", "doctor", "--json", **source).stdout)["checks"]
    [found] = [check for check in checks if check["name"] == "blobs"]
    assert not found["ok"]
    assert sha256[:12] in found["message"]
    assert backed_up(tmp_path / "old", str(tmp_path / "b.tar"), **source)["missing_blobs"] == [sha256]
    refused = run(tmp_path / "new", "restore", str(tmp_path / "b.tar"), **target)
    assert refused.returncode == 1
    assert sha256[:12] in refused.stderr
    done = run(tmp_path / "new", "restore", str(tmp_path / "b.tar"), "--incomplete", **target)
    assert done.returncode == 0, done.stdout + done.stderr
