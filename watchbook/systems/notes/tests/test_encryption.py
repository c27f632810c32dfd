from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys

import pytest

from watchbook.base.crypto import DecryptionError
from watchbook.base.testing import servers
from watchbook.systems.notes import actions, encryption
from watchbook.systems.notes.models import Cookie
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.store import cookies
from watchbook.systems.notes.tests.data import KEY, SECOND_KEY, START

PLAIN = "a1=made-up-0123456789; web_session=made-up-secret-12345"


def open_row(row):
    return encryption.decrypt(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)


@pytest.mark.parametrize("cipher", ["v1", "v2"])
def test_encrypted_cookie_is_bound_to_its_row(cipher, monkeypatch):
    monkeypatch.setenv("NOTES_COOKIE_CIPHER", cipher)
    encrypted, key_id = encryption.encrypt(PLAIN, name="one", platform="xhs")
    assert encrypted.split(":")[:2] == [cipher, key_id]
    assert encryption.decrypt(encrypted, name="one", platform="xhs") == PLAIN
    for name, platform in (("two", "xhs"), ("one", "other"), ("", "")):
        with pytest.raises(DecryptionError):
            encryption.decrypt(encrypted, name=name, platform=platform)


@pytest.mark.parametrize("cipher", ["v1", "v2"])
def test_modified_encrypted_cookie_is_refused(cipher, monkeypatch):
    monkeypatch.setenv("NOTES_COOKIE_CIPHER", cipher)
    encrypted, _key_id = encryption.encrypt(PLAIN, name="one", platform="xhs")
    head, _, body = encrypted.rpartition(":")
    for spoiled in (f"{head}:{body[:-8]}{'A' * 8}", f"{head}:", f"{head}:!!!", "v9:k:xx", PLAIN, ""):
        with pytest.raises(DecryptionError):
            encryption.decrypt(spoiled, name="one", platform="xhs")


@pytest.mark.parametrize("cipher", ["v1", "v2"])
def test_same_cookie_encrypted_twice_differs(cipher, monkeypatch):
    monkeypatch.setenv("NOTES_COOKIE_CIPHER", cipher)
    assert encryption.encrypt(PLAIN, name="a", platform="x") != encryption.encrypt(PLAIN, name="a", platform="x")


def test_another_key_has_another_id_and_never_passes_for_it(monkeypatch):
    encrypted, first = encryption.encrypt(PLAIN, name="a", platform="x")
    monkeypatch.setenv("COOKIE_MASTER_KEY", SECOND_KEY)
    assert encryption.current_key_id() != first
    with pytest.raises(DecryptionError, match="is not here"):
        encryption.decrypt(encrypted, name="a", platform="x")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("COOKIE_MASTER_KEY", "", "COOKIE_MASTER_KEY is not set"),
        ("COOKIE_MASTER_KEY", "short", "shorter than 32"),
        ("COOKIE_MASTER_KEYS", "no-colon-in-this-key-that-is-long-enough", "has no ID"),
        ("COOKIE_MASTER_KEYS", "k1:short", "shorter than 32"),
    ],
)
def test_invalid_master_key_makes_pool_unavailable(name, value, says, monkeypatch):
    monkeypatch.delenv("COOKIE_MASTER_KEY")
    monkeypatch.setenv(name, value)
    assert says in encryption.unavailable_reason()
    with pytest.raises(encryption.PoolUnavailable):
        encryption.encrypt(PLAIN, name="a", platform="x")


@pytest.mark.django_db
def test_ciphertext_moved_to_another_row_is_refused(monkeypatch):
    first, _ = actions.add_cookie("one", PLAIN)
    second, _ = actions.add_cookie("two", "web_session=another-made-up-12345")
    Cookie.objects.filter(pk=second.pk).update(cookie_encrypted=first.cookie_encrypted)
    with pytest.raises(DecryptionError, match="another row"):
        open_row(Cookie.objects.get(pk=second.pk))
    Cookie.objects.filter(pk=first.pk).delete()
    from watchbook.systems.notes.store import pool

    with pytest.raises(NotesError, match="COOKIE_EXHAUSTED"):
        pool.lease("xhs", 1, START)


@pytest.mark.django_db
def test_nothing_of_the_cookie_is_readable_in_its_row():
    row, _ = actions.add_cookie("one", PLAIN)
    shown = json.dumps(Cookie.objects.values().get(pk=row.pk), default=str)
    assert "made-up" not in shown
    assert "made-up" not in repr(row)
    assert b"made-up" not in base64.b64decode(row.cookie_encrypted.rpartition(":")[2])


@pytest.mark.django_db
def test_rotation_reencrypts_all_and_names_missing_keys(monkeypatch):
    actions.add_cookie("old", PLAIN)
    monkeypatch.setenv("COOKIE_MASTER_KEY", "a-third-made-up-master-key-of-forty-chars")
    actions.add_cookie("lost", "web_session=made-up-and-lost-12345")
    monkeypatch.delenv("COOKIE_MASTER_KEY")
    monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY},{encryption.key_id_of(KEY)}:{KEY}")
    done = actions.rotate_keys()
    assert (done.current_key_id, done.rotated, done.unknown) == ("k2", 1, ["lost"])
    row = Cookie.objects.get(cookie_name="old")
    assert row.encryption_key_id == "k2"
    monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY}")
    assert open_row(row) == PLAIN
    assert actions.rotate_keys().rotated == 0


@pytest.mark.django_db
def test_rotation_changes_the_cipher_too(monkeypatch):
    monkeypatch.setenv("NOTES_COOKIE_CIPHER", "v1")
    actions.add_cookie("one", PLAIN)
    monkeypatch.setenv("NOTES_COOKIE_CIPHER", "v2")
    assert actions.rotate_keys().rotated == 1
    row = Cookie.objects.get()
    assert row.cookie_encrypted.startswith("v2:")
    assert open_row(row) == PLAIN


@pytest.mark.django_db
def test_secret_that_changed_during_rotation_wins(monkeypatch):
    row, _ = actions.add_cookie("one", PLAIN)
    monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY}")
    done = cookies.Rotation("k2")
    actions.add_cookie("one", "web_session=made-up-and-newer-12345")
    cookies._reencrypt_row(row, done, START)
    assert done.rotated == 0
    assert "newer" in open_row(Cookie.objects.get())


@pytest.mark.crash
@pytest.mark.django_db(transaction=True)
def test_killed_key_rotation_continues_where_it_stopped(monkeypatch):
    """A process of its own and SIGKILL in the middle: at every moment each row is sealed by one of the two keys."""
    for number in range(3):
        actions.add_cookie(f"cookie {number}", f"web_session=made-up-{number}-123456")
    monkeypatch.setenv("COOKIE_MASTER_KEYS", f"k2:{SECOND_KEY}")
    command = [sys.executable, "-m", "watchbook", "notes", "cookies", "rotate-keys"]
    env = {**os.environ, "DATABASE_URL": servers.same_database(), "CRASH_AT": "notes.rotated:2"}
    killed = subprocess.run(command, env=env, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    rows = list(Cookie.objects.order_by("pk"))
    assert [row.encryption_key_id == "k2" for row in rows] == [True, True, False]
    assert [open_row(row) for row in rows] == [f"web_session=made-up-{number}-123456" for number in range(3)]
    done = actions.rotate_keys()
    assert (done.rotated, done.already, done.unknown) == (1, 2, [])
    assert {row.encryption_key_id for row in Cookie.objects.all()} == {"k2"}
