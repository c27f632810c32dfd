"""Learning which pages change at nearly every check, one pass over what was modified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

from watchbook.sources.sitemaps.compare import Difference, Restamp, advance, always_changing, find_restamp
from watchbook.sources.sitemaps.compare.difference import MODIFIED
from watchbook.sources.sitemaps.models import MonitorTask, UrlHistory
from watchbook.sources.sitemaps.parse.lines import key_for, read_line

LISTED = 1000


@dataclass
class Noise:
    """What of the modified is noise, and the first ones of each sort."""

    noisy_count: int = 0
    noisy: list[str] = field(default_factory=list)
    told_count: int = 0
    told: list[dict[str, str | None]] = field(default_factory=list)
    restamp: Restamp | None = None


def learn(monitor: MonitorTask, difference: Difference) -> Noise:
    """Move every page's history on by this check and sort the modified ones."""
    import zstandard  # only where a history is written

    row, _ = UrlHistory.objects.get_or_create(pk=monitor.pk)
    noise = Noise()
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    packed = bytearray()
    modified = (change.url for change in difference.changes(MODIFIED))
    changes = difference.changes(MODIFIED)
    for url, history, changed in advance(_histories(row), modified, unchanged_before=row.unchanged_checks):
        packed += packer.compress(key_for(url) + b"\t%d\n" % history)
        if changed:
            _sort(noise, next(changes).as_json(), is_noisy=always_changing(history))
    packed += packer.flush()
    row.data, row.unchanged_checks = bytes(packed), 0
    row.save(update_fields=["data", "unchanged_checks"])
    noise.restamp = find_restamp(lambda: (item["new_lastmod"] for item in difference.items(MODIFIED)))
    return noise


def _sort(noise: Noise, item: dict[str, str | None], *, is_noisy: bool) -> None:
    if is_noisy:
        noise.noisy_count += 1
        if len(noise.noisy) < LISTED:
            noise.noisy.append(str(item["url"]))
    else:
        noise.told_count += 1
        if len(noise.told) < LISTED:
            noise.told.append(item)


def _histories(row: UrlHistory) -> Iterator[tuple[str, int]]:
    import zstandard

    if not row.data:
        return
    with zstandard.ZstdDecompressor().stream_reader(BytesIO(bytes(row.data))) as reader:
        rest = b""
        while chunk := reader.read(1 << 18):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                record = read_line(line)
                yield record.url, int(record.lastmod)  # the second column of these lines is the history
