"""The one written form of an e-mail address, so that two spellings are never two accounts."""

from __future__ import annotations

import unicodedata

LONGEST = 255


def normalise(email: str) -> str:
    """Trimmed, NFKC, lower-case. Done before an address is stored or compared; no database collation decides."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", email).strip().lower())
