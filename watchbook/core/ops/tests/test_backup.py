"""Backups through the real command, on the database of this test run."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from watchbook.base.testing import migrated, servers
from watchbook.core.ops.backup.archive import Damaged, Reader
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables, run

KIND = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
FILL = """
import sys, django
django.setup()
from watchbook.core.jobs.models import JobRun
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.base.crypto import encrypt
from watchbook.base import clock
from django.contrib.sessions.backends.db import SessionStore
user = User.objects.create_user("ada@example.com", "correct horse battery", is_verified=True)
NotificationChannel.objects.create(user=user, name="海鷗 \\t tab \\\\ slash", channel_type="webhook",
    config={"note": "line\\nbreak", "n": 1.5}, secret=encrypt("https://hooks.example.com/x", bound_to="c"))
JobRun.objects.bulk_create([JobRun(name="x", queue="crawler_queue", key=f"k{n}", due_at=clock.now(),
    created_at=clock.now(), progress={"n": n, "text": "漢字 😀"}) for n in range(int(sys.argv[1]))])
session = SessionStore(); session["_auth_user_id"] = str(user.pk); session.create()
print(session.session_key)
"""
SHOW = """
import django, json
django.setup()
from watchbook.core.jobs.models import JobRun
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from django.contrib.sessions.models import Session
from watchbook.base import clock
channel = NotificationChannel.objects.get()
now = clock.now()
fresh = JobRun.objects.create(name="after", queue="crawler_queue", key="after", due_at=now, created_at=now)
print(json.dumps([User.objects.get().check_password("correct horse battery"), channel.name, channel.config,
    list(JobRun.objects.filter(name="x").order_by("pk").values_list("key", "progress"))[-1], fresh.pk,
    Session.objects.count(), str(User.objects.get().created_at)]))
"""
EMPTY_RUNS = """
import django
django.setup()
from watchbook.core.jobs.models import JobRun
JobRun.objects.all().delete()
"""


def python(home: Path, code: str, *arguments: str, **extra: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(home, **extra), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def databases():
    """Addresses of two databases: one with empty tables to back up from, an empty one to restore into."""
    if KIND == "sqlite":
        yield {}, {}
        return
    server = servers.postgres_url() if KIND == "postgres" else servers.mariadb_url()
    source, target = (servers.beside(server, f"watchbook_{uuid4().hex[:12]}") for _ in range(2))
    migrated.copy_to_server(source)
    servers.create(target)
    yield {"DATABASE_URL": source}, {"DATABASE_URL": target}
    for url in (source, target):
        servers.drop(url)


def filled(home: Path, count: int = 300, **extra: str) -> str:
    (home / "blobs" / "ab").mkdir(parents=True)
    (home / "blobs" / "ab" / "abcd.zst").write_bytes(b"blob bytes")
    (home / "blobs" / ".draft-1").write_bytes(b"unfinished")
    if not extra:
        prepare_tables(home)
    return python(home, FILL, str(count), **extra).strip()


def backed_up(home: Path, *arguments: str, **extra: str) -> dict:
    done = run(home, "backup", *arguments, "--json", **extra)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_backup_restores_everything_but_sessions_into_an_empty_database(tmp_path, databases):
    source, target = databases
    session_key = filled(tmp_path / "old", **source)
    taken = backed_up(tmp_path / "old", str(tmp_path / "b.tar"), **source)
    assert taken["verified"]
    assert (taken["blobs"], taken["with_keys"]) == (1, False)
    assert stat.S_IMODE((tmp_path / "b.tar").stat().st_mode) == 0o600
    before = json.loads(python(tmp_path / "old", SHOW, **source))
    assert session_key.encode() not in _everything_in(tmp_path / "b.tar")

    done = run(tmp_path / "new", "restore", str(tmp_path / "b.tar"), "--json", **target)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["locked"] == {"notification_channels.secret": 1}
    after = json.loads(python(tmp_path / "new", SHOW, **target))
    assert after[:5] == before[:5]
    assert after[6] == before[6]
    assert (before[5], after[5]) == (1, 0)
    assert (tmp_path / "new" / "blobs" / "ab" / "abcd.zst").read_bytes() == b"blob bytes"
    assert not (tmp_path / "new" / "blobs" / ".draft-1").exists()
    checks = json.loads(run(tmp_path / "new", "doctor", "--json", **target).stdout)["checks"]
    found = {check["name"]: check["ok"] for check in checks}
    assert found["migrations"] is True
    assert found["secrets"] is False, "the restore has no keys, so the stored secret cannot be decrypted"


def _everything_in(path: Path) -> bytes:
    import zstandard

    found = b""
    with tarfile.open(path) as tar:
        for member in tar:
            raw = tar.extractfile(member).read()
            if member.name.startswith(("database", "tables/")):
                raw = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)).read()
            found += raw
    return found


def test_filled_database_is_replaced_only_by_force(tmp_path, databases):
    source, _ = databases
    filled(tmp_path / "old", 5, **source)
    taken = backed_up(tmp_path / "old", **source)
    python(tmp_path / "old", EMPTY_RUNS, **source)

    refused = run(tmp_path / "old", "restore", taken["path"], **source)
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    done = run(tmp_path / "old", "restore", taken["path"], "--force", "--json", **source)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["locked"] == {}
    assert json.loads(python(tmp_path / "old", SHOW, **source))[3][0] == "k4"
    if not source:
        assert Path(json.loads(done.stdout)["kept"]).exists()


def test_backup_with_keys_opens_every_secret(tmp_path):
    filled(tmp_path / "old", 1)
    taken = backed_up(tmp_path / "old", "--with-keys")
    done = run(tmp_path / "new", "restore", taken["path"], "--json")
    assert json.loads(done.stdout)["locked"] == {}
    for name in ("secret_key", "secrets_key"):
        assert (tmp_path / "new" / "keys" / name).read_text() == (tmp_path / "old" / "keys" / name).read_text()
    assert "hooks.example.com" in python(
        tmp_path / "new",
        "import django; django.setup()\nfrom watchbook.core.notify.models import NotificationChannel\n"
        "from watchbook.base.crypto import decrypt\n"
        "print(decrypt(NotificationChannel.objects.get().secret, bound_to='c'))",
    )


def test_backup_taken_while_others_write_is_of_one_moment(tmp_path, databases):
    """Two rows are always written together; a backup that sees one of a pair saw two moments."""
    source, target = databases
    filled(tmp_path / "old", 2000, **source)
    writer = Running(tmp_path / "old", "-c", PAIRS, **source)
    try:
        writer.wait_for("writing")
        taken = backed_up(tmp_path / "old", str(tmp_path / "b.tar"), **source)
        assert writer.process.poll() is None, "".join(writer.lines)
    finally:
        writer.close()
    assert taken["verified"]
    assert run(tmp_path / "new", "restore", str(tmp_path / "b.tar"), **target).returncode == 0
    left, right = json.loads(python(tmp_path / "new", COUNT_PAIRS, **target))
    assert left == right > 0


PAIRS = """
import django, itertools
django.setup()
from django.db import transaction
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun, JobSchedule
for n in itertools.count():
    with transaction.atomic():
        JobSchedule.objects.create(name=f"p{n}", next_at=clock.now())
        now = clock.now()
        JobRun.objects.create(name="pair", queue="crawler_queue", key=f"p{n}", due_at=now, created_at=now)
    if n == 20:
        print("writing", flush=True)
"""
COUNT_PAIRS = """
import django, json
django.setup()
from watchbook.core.jobs.models import JobRun, JobSchedule
slots, runs = JobSchedule.objects.filter(name__startswith="p"), JobRun.objects.filter(name="pair")
print(json.dumps([slots.count(), runs.count()]))
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    filled(folder / "old", 20)
    path = folder / "good.tar"
    backed_up(folder / "old", str(path))
    return path


def tampered(good: Path, change) -> Path:
    """The same archive with its members passed through `change(name, bytes) -> [(TarInfo, bytes), ...]`."""
    bad = good.with_name(f"bad-{uuid4().hex}.tar")
    with tarfile.open(good) as old, tarfile.open(bad, "w") as new:
        for member in old:
            for info, raw in change(member, old.extractfile(member).read()):
                info.size = len(raw) if info.isreg() else 0
                new.addfile(info, io.BytesIO(raw) if info.isreg() else None)
    return bad


def extra(name: str, **facts):
    def change(member, raw):
        yield member, raw
        if member.name == "manifest.json":
            info = tarfile.TarInfo(name)
            for key, value in facts.items():
                setattr(info, key, value)
            yield info, b"x"

    return change


def flipped(member, raw):
    yield member, raw if member.name != "database.sqlite3.zst" else raw[:100] + bytes([raw[100] ^ 1]) + raw[101:]


def without_manifest(member, raw):
    if member.name != "manifest.json":
        yield member, raw


def larger(member, raw):
    yield member, raw + b"0" * 512 if member.name.startswith("blobs/") else raw


@pytest.mark.parametrize(
    "change",
    [
        extra("../evil"),
        extra("/etc/evil"),
        extra("blobs/../../evil"),
        extra("blobs/.hidden"),
        extra("watchbook.sqlite3"),
        extra("blobs/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        extra("blobs/hard", type=tarfile.LNKTYPE, linkname="../../etc/passwd"),
        extra("blobs/device", type=tarfile.CHRTYPE),
        extra("blobs/unlisted"),
        extra("blobs/ab/abcd.zst"),
        flipped,
        without_manifest,
        larger,
    ],
    ids=lambda change: getattr(change, "__name__", str(change)),
)
def test_tampered_backup_is_refused(good, change):
    with pytest.raises(Damaged):
        Reader(tampered(good, change)).check()


def test_good_backup_is_not_refused(good):
    Reader(tampered(good, lambda member, raw: [(member, raw)])).check()


@pytest.mark.parametrize("change", [extra("../evil"), flipped], ids=["path", "digest"])
def test_tampered_backup_changes_nothing(tmp_path, good, change):
    bad = tampered(good, change)
    done = run(tmp_path / "new", "restore", str(bad), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "restore_failed"
    assert not (tmp_path / "new" / "watchbook.sqlite3").exists()
    assert not list((tmp_path / "new").glob("blobs/**/*"))


def test_cut_backup_is_refused(tmp_path, good):
    bad = tmp_path / "cut.tar"
    bad.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    done = run(tmp_path / "new", "restore", str(bad))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_backup_that_is_killed_leaves_no_backup_behind(tmp_path):
    filled(tmp_path, 5)
    for point in ("backup.dumped", "backup.written"):
        assert run(tmp_path, "backup", CRASH_AT=f"{point}:1").returncode == -9
        assert not list((tmp_path / "backups").glob("watchbook-*.tar"))
    backed_up(tmp_path)


def test_restore_that_is_killed_can_be_done_again(tmp_path, good):
    for point in ("restore.blobs", "restore.database"):
        assert run(tmp_path / "new", "restore", str(good), "--force", CRASH_AT=f"{point}:1").returncode == -9
    assert run(tmp_path / "new", "restore", str(good), "--force").returncode == 0
    with closing(sqlite3.connect(tmp_path / "new" / "watchbook.sqlite3")) as database:
        assert database.execute("SELECT COUNT(*) FROM job_runs").fetchone() == (20,)


def test_nothing_is_restored_under_a_running_process(tmp_path, good):
    living = Running(tmp_path / "new", "-c", LIVING)
    try:
        living.wait_for("living")
        done = run(tmp_path / "new", "restore", str(good), "--force")
    finally:
        living.close()
    assert done.returncode == 1
    assert "Stop it first" in done.stderr


LIVING = """
import django, time
django.setup()
from watchbook.base.store import folder
with folder.living_here():
    print("living", flush=True)
    time.sleep(60)
"""


def test_backup_does_not_overwrite_a_file_and_says_when_there_is_no_room(tmp_path):
    filled(tmp_path / "old", 1)
    taken = tmp_path / "taken.tar"
    taken.write_text("mine")
    done = run(tmp_path / "old", "backup", str(taken))
    assert (done.returncode, taken.read_text()) == (1, "mine")
    assert "exists" in done.stderr
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "old", "backup", str(tmp_path / "file" / "b.tar"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path / "old" / "backups") == [] if (tmp_path / "old" / "backups").exists() else True
