"""The fingerprint of a post: of what its source says, so that a change in our renderer makes no revision."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256

from watchbook.sources.nga.parse.entities import lines, unescape_whole, whole_characters


def fingerprint(source: str, *, subject: str = "", extra: Iterable[str] = ()) -> str:
    """SHA-256 over the text, the post's own heading, and what hangs on it (attachments, choices of a poll)."""
    return fingerprint_of_lines(lines(whole_characters(source)), subject, list(extra))


def fingerprint_of_lines(source: str, subject: str, extra: Sequence[str]) -> str:
    """The same of a text that is whole and has line feeds already."""
    text, heading = _normalised(source), _of_field(subject)
    # Each part with its length, so that a text cannot pass for another one's attachment.
    whole = f"{len(text)}:{text}{len(heading)}:{heading}"
    if extra:
        whole += "".join([f"{len(part)}:{part}" for part in sorted(map(_of_field, extra))])
    return sha256(whole.encode()).hexdigest()


def _of_field(text: str) -> str:
    return _normalised(lines(whole_characters(text))) if text else ""


def _normalised(source: str) -> str:
    """One spelling for entities, no-break spaces and composed characters."""
    text = unescape_whole(source).replace("\u00a0", " ")
    if (" " in text and " \n" in text) or "\t" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    return unicodedata.normalize("NFC", text).strip()
