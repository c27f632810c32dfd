"""Texts of versions: each as the difference to the one before, and every tenth whole.

zstd with the text before as dictionary: measured 60 to 120 bytes for an edited sentence in a page of 6,000 characters.
"""

from __future__ import annotations

from typing import Any

from watchbook.systems.pages.models import WHOLE_EVERY, Page, PageVersion

LEVEL = 9
LONGEST = 8_000_000


def pack(text: str, before: str | None) -> bytes:
    return bytes(_compressor(before).compress(text.encode("utf-8")))


def unpack(data: bytes, before: str | None) -> str:
    import zstandard  # only where texts are read

    reader = zstandard.ZstdDecompressor(dict_data=_dictionary(before)) if before else zstandard.ZstdDecompressor()
    return bytes(reader.decompress(bytes(data), max_output_size=LONGEST)).decode("utf-8")


def _compressor(before: str | None) -> Any:
    import zstandard  # only where texts are written

    if not before:
        return zstandard.ZstdCompressor(level=LEVEL)
    return zstandard.ZstdCompressor(level=LEVEL, dict_data=_dictionary(before))


def _dictionary(before: str | None) -> Any:
    import zstandard

    return zstandard.ZstdCompressionDict((before or "").encode("utf-8"), dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def text_of(version: PageVersion) -> str:
    """Return the text of a version: from the last whole one forward. One query."""
    return texts_of(version.page_id, version.number).get(version.number, "")


def texts_of(page_id: int, number: int) -> dict[int, str]:
    """Return the texts of a version and of those that it is made of."""
    rows = PageVersion.objects.filter(page=page_id, number__lte=number).order_by("-number")
    chain: list[tuple[int, Any, bool]] = []
    for found in rows.values_list("number", "data", "is_whole")[: WHOLE_EVERY + 1]:
        chain.append(found)
        if found[2]:
            break
    texts: dict[int, str] = {}
    before: str | None = None
    for each, data, is_whole in reversed(chain):
        before = texts[each] = unpack(data, None if is_whole else before)
    return texts


def newest(page: Page) -> tuple[PageVersion | None, str]:
    """Return the newest version of a page with its text."""
    version = PageVersion.objects.filter(page=page).order_by("-number").first()
    return (version, text_of(version)) if version else (None, "")


def chain_length(page_id: int) -> int:
    """Return how many versions came since the last whole one."""
    rows = PageVersion.objects.filter(page=page_id).order_by("-number").values_list("is_whole", flat=True)
    recent = list(rows[:WHOLE_EVERY])
    return recent.index(True) if True in recent else len(recent)
