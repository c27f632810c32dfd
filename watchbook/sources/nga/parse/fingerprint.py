"""The fingerprint of a post: of what its source says, so that a change in our renderer makes no revision."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from watchbook.sources.nga.parse.entities import lines, unescape


def normalised(source: str) -> str:
    """One spelling for entities, line ends, no-break spaces and composed characters."""
    if not source:
        return ""
    text = unescape(lines(source)).replace("\u00a0", " ")
    if " \n" in text or "\t\n" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    return unicodedata.normalize("NFC", text).strip()


def fingerprint(source: str, *, subject: str = "", extra: Iterable[str] = ()) -> str:
    """SHA-256 over the text, the post's own heading, and what hangs on it (attachments, choices of a poll)."""
    parts = [normalised(source), normalised(subject), *sorted(normalised(part) for part in extra)]
    # Each part with its length, so that a text cannot pass for another one's attachment.
    whole = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(whole.encode("utf-8")).hexdigest()
