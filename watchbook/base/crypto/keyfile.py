"""A secret in a file of its own: made once, mode 0600, safe when two processes start at the same moment."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


class KeyTrouble(Exception):
    """A key file cannot be used. The message says which one and what to do."""


def secret_file(path: Path, *, size: int = 48) -> str:
    """Read the secret of this file; make it first when there is none.

    The value is written to a private temporary file and then linked to its name: link() fails when another process
    was first, and both then read the same finished file.
    """
    if not path.exists():
        _make(path, secrets.token_urlsafe(size))
    value = path.read_text(encoding="ascii", errors="replace").strip()
    if len(value) < 32:
        raise KeyTrouble(f"{path} is empty or damaged. Put the old key back, or remove the file to make a new one.")
    if path.stat().st_mode & 0o077:
        raise KeyTrouble(f"{path} can be read by others. Run: chmod 600 {path}")
    return value


def _make(path: Path, value: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(value + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first: its key is the key
    finally:
        draft.unlink()
