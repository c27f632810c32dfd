"""Files of large lists become blobs: until now a file was named after the list, not after its own bytes."""

import hashlib
import os
from pathlib import Path

from django.conf import settings
from django.db import migrations
from django.utils import timezone


def adopt(apps, schema_editor):
    lists = apps.get_model("store", "SortedList").objects.filter(data=None, packed_sha256=None)
    folder = Path(settings.HOME) / "blobs"
    for stored in lists.iterator(100):
        old = folder / stored.sha256[:2] / f"{stored.sha256}.zst"
        if not old.exists():
            continue  # lost before; `doctor` names the list, and the next whole fetch repairs it
        with old.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        new = folder / sha256[:2] / sha256
        new.parent.mkdir(exist_ok=True, mode=0o700)
        if not new.exists():
            # A second name: the first one stays until the migration is committed.
            os.link(old, new)
        row = {"size": new.stat().st_size, "place": "files", "put_at": timezone.now()}
        apps.get_model("store", "Blob").objects.get_or_create(sha256=sha256, defaults=row)
        apps.get_model("store", "BlobReference").objects.get_or_create(
            owner_kind="sorted_list", owner_id=stored.sha256, blob_id=sha256
        )
        stored.packed_sha256 = sha256
        stored.save(update_fields=["packed_sha256"])


class Migration(migrations.Migration):
    dependencies = [("store", "0002_blobs")]

    operations = [migrations.RunPython(adopt, migrations.RunPython.noop, elidable=False)]
