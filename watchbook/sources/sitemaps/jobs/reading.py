"""Reading a whole sitemap: the file itself, or an index and every file below it.

A part that cannot be read is said so and keeps what was known of it; only trouble with the first file is trouble with
the sitemap. Nothing here writes to the database, so a one-off check can use it too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from watchbook.base import sandbox
from watchbook.base.crash import crash_point
from watchbook.base.web.answer import Answer
from watchbook.base.web.errors import Busy, Gone, WebError
from watchbook.sources.sitemaps import options
from watchbook.sources.sitemaps.fetch import fetch_part
from watchbook.sources.sitemaps.parse import Damaged, Limits, NotASitemap, Unreadable
from watchbook.sources.sitemaps.records import FAILED, SAME, KnownPart, PartReading, Reading
from watchbook.sources.sitemaps.sentences import said

READ_TASK = "watchbook.sources.sitemaps.parse.task:read_part_task"
READ_CPU_SECONDS, READ_WALL_SECONDS, READ_MEMORY_MB = 120, 180, 768


def read_sitemap(
    url: str,
    *,
    known: Mapping[str, KnownPart],
    folder: Path,
    whole: bool = False,
    report: Callable[..., None] = lambda **_: None,
) -> Reading:
    """Read an address and everything it leads to. Raises for the first file only."""
    reading = Reading()
    started = time.monotonic()
    seen = {url}
    waiting: deque[tuple[str, int]] = deque([(url, 0)])
    while waiting:
        address, depth = waiting.popleft()
        if time.monotonic() - started > options.CHECK_DEADLINE.value:
            reading.cap("check_deadline")
            break
        part = _read_part(address, known.get(address), reading, folder, whole=whole)
        if part is None:
            continue
        reading.parts.append(part)
        report(parts=len(reading.parts), urls=sum(p.count for p in reading.pages))
        for child, _lastmod in part.summary.get("children", []):
            if child in seen:
                continue
            seen.add(child)
            if depth >= options.INDEX_DEPTH.value:
                reading.cap("index_too_deep")
            elif len(seen) > options.MAX_PARTS.value:
                reading.cap("too_many_parts")
            else:
                waiting.append((child, depth + 1))
    return reading


def _read_part(url: str, known: KnownPart | None, reading: Reading, folder: Path, *, whole: bool) -> PartReading | None:
    is_root = not reading.parts
    try:
        answer = _fetch(url, known, reading, folder, whole=whole)
        if any(answer.url == part.url for part in reading.parts) and answer.url != url:
            return None  # a redirect to a file that is read already
        return _take(url, answer, known, reading, folder)
    except Busy:
        raise  # the host's turn is somebody else's: the whole check waits
    except (WebError, sandbox.TaskError, Unreadable) as error:
        if is_root:
            raise
        summary = {key: value for key, value in known.summary.items() if key != "notes"} if known else {}
        return PartReading(url, FAILED, summary, error_code=error.code, message=said(error))


def _fetch(url: str, known: KnownPart | None, reading: Reading, folder: Path, *, whole: bool) -> Answer:
    began = time.monotonic()
    validators = known.validators if known and not whole else None
    try:
        # One file for all parts: each is read before the next one is fetched, and a large sitemap needs little disk.
        answer = fetch_part(url, validators=validators, target=folder / "body", past_caches=whole)
    finally:
        reading.fetch_ms += int((time.monotonic() - began) * 1000)
    reading.bytes_read += answer.size
    crash_point("sitemaps.fetched")
    return answer


def _take(url: str, answer: Answer, known: KnownPart | None, reading: Reading, folder: Path) -> PartReading:
    if known is not None and (answer.is_not_modified or answer.sha256 == known.body_sha256):
        validators = known.validators if answer.is_not_modified else answer.validators
        return PartReading(url, SAME, known.summary, validators, known.body_sha256)
    began = time.monotonic()
    lines = folder / f"{len(reading.parts)}.lines"
    assert answer.path is not None
    try:
        summary = sandbox.call(
            READ_TASK,
            {
                "base_url": answer.url,
                "content_type": answer.content_type,
                "transport_complete": answer.is_complete,
                "limits": Limits(decoded_bytes=options.PART_BYTES.value * 1_000_000).as_json(),
            },
            input_path=answer.path,
            output_path=lines,
            cpu_seconds=READ_CPU_SECONDS,
            wall_seconds=READ_WALL_SECONDS,
            memory_mb=READ_MEMORY_MB,
        )
    finally:
        reading.parse_ms += int((time.monotonic() - began) * 1000)
    crash_point("sitemaps.parsed")
    if summary["state"] == FAILED:
        raise _unreadable(summary["error"])
    return PartReading(url, summary["state"], summary, answer.validators, answer.sha256, lines)


def read_first(url: str, folder: Path) -> PartReading:
    """Only the file at this address, whatever it leads to."""
    reading = Reading()
    return _take(url, _fetch(url, None, reading, folder, whole=False), None, reading, folder)


def ask_after(urls: list[str], reading: Reading, folder: Path) -> None:
    """Parts that left their index: does the site say that they do not exist? Anything else leaves it open."""
    for url in urls:
        try:
            _fetch(url, None, reading, folder, whole=True)
        except Gone:
            reading.gone.add(url)
        except Busy:
            raise
        except WebError:
            continue


def _unreadable(said: Mapping[str, str]) -> Unreadable:
    """The reader's own error, which it could tell only in JSON."""
    kind = NotASitemap if said["kind"] == "NotASitemap" else Damaged
    return kind(said["code"], said["message"])
