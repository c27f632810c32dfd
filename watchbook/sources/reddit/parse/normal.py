"""The form in which two texts are the same text, and its digest."""

from __future__ import annotations

import html
import unicodedata
from hashlib import sha256

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\ufeff\u200c\u200d\u2060"))


def normal(text: str) -> str:
    """NFKC, entities as signs (once), nothing invisible, single spaces."""
    # Nearly every text is plain: then only its spaces can differ.
    if not text.isascii() or "&" in text:
        text = html.unescape(text).translate(_INVISIBLE)
        text = unicodedata.normalize("NFKC", text)
    elif text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def text_norm_hash(title: str, text: str, link: str) -> str:
    """Title, text and link together: thousands of link posts have no text, and many share a title."""
    framed = "\x1f".join((normal(title), normal(text), link))
    return sha256(framed.encode("utf-8", "replace")).hexdigest()
