from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from watchbook.base.crypto import Cipher, DecryptionError, KeyFileError, KeyRing, secret_file

OLD, NEW = "o" * 40, "n" * 40


def test_encrypted_value_is_decrypted_for_the_same_row_only():
    cipher = Cipher(KeyRing({"k1": OLD}))
    encrypted = cipher.encrypt("cookie=1", bound_to="row:1")
    assert "cookie" not in encrypted
    assert cipher.decrypt(encrypted, bound_to="row:1") == "cookie=1"
    with pytest.raises(DecryptionError):
        cipher.decrypt(encrypted, bound_to="row:2")


def test_new_key_encrypts_and_old_key_still_decrypts():
    encrypted = Cipher(KeyRing({"k1": OLD})).encrypt("x", bound_to="r")
    both = Cipher(KeyRing({"k2": NEW, "k1": OLD}))
    assert both.decrypt(encrypted, bound_to="r") == "x"
    assert both.encrypt("y", bound_to="r").startswith("v2:k2:")
    with pytest.raises(DecryptionError, match="k1"):
        Cipher(KeyRing({"k2": NEW})).decrypt(encrypted, bound_to="r")


@pytest.mark.parametrize("damaged", ["", "v2", "v2:k1:", "v2:k1:%%%", "v1:k1:AAAA", "v2:k1:AAAA", "plain text"])
def test_damaged_value_is_refused(damaged):
    with pytest.raises(DecryptionError):
        Cipher(KeyRing({"k1": OLD})).decrypt(damaged, bound_to="r")


def test_key_ring_does_not_show_its_keys():
    assert OLD not in repr(KeyRing({"k1": OLD}))


def test_key_file_is_private_and_stays_the_same(tmp_path):
    path = tmp_path / "keys" / "secret"
    first = secret_file(path)
    assert secret_file(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["secret"]


def test_open_or_empty_key_file_is_said_clearly(tmp_path):
    path = tmp_path / "secret"
    secret_file(path)
    path.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        secret_file(path)
    path.chmod(0o600)
    path.write_text("")
    with pytest.raises(KeyFileError, match="damaged"):
        secret_file(path)


def test_eight_processes_starting_together_agree_on_one_key(tmp_path):
    code = "import sys, pathlib, watchbook.base.crypto as c; print(c.secret_file(pathlib.Path(sys.argv[1])))"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "key")], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    keys = {process.communicate(timeout=60)[0].strip() for process in started}
    assert len(keys) == 1
