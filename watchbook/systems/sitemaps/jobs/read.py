"""Reads a sitemap: the file itself, or an index and all its files; for a check, a preview or a command.

A file that cannot be read is reported and keeps what was known of it; only a failure of the first file is a failure of
the sitemap. Nothing here writes to the database.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from watchbook.base import sandbox
from watchbook.base.store.folder import scratch
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Busy, Gone, WebError
from watchbook.base.web.response import Answer
from watchbook.base.work import crash_point
from watchbook.systems.sitemaps import options
from watchbook.systems.sitemaps.compare import (
    ADDED,
    MODIFIED,
    REMOVED,
    ROLLED_OFF,
    Union,
    compare,
    union_of,
    union_records,
)
from watchbook.systems.sitemaps.compare.reliability import is_suspect
from watchbook.systems.sitemaps.fetch import fetch_part, fetch_robots
from watchbook.systems.sitemaps.parse.lists import ListWriter, PartList, write_line
from watchbook.systems.sitemaps.parse.records import Damaged, Limits, NoFileRead, NotASitemap, Unreadable
from watchbook.systems.sitemaps.records import (
    FAILED,
    LIMIT_MESSAGES,
    SAME,
    KnownPart,
    PartReading,
    Reading,
    error_message,
    repeated_notes,
)

READ_TASK = "watchbook.systems.sitemaps.parse:read_part_task"
READ_CPU_SECONDS, READ_WALL_SECONDS, READ_MEMORY_MB = 120, 180, 768


def read_sitemap(
    url: str,
    *,
    known: Mapping[str, KnownPart],
    folder: Path,
    whole: bool = False,
    report: Callable[..., None] = lambda **_: None,
) -> Reading:
    """Read an address and all files it lists. Raises errors of the first file only."""
    reading = Reading()
    started = time.monotonic()
    seen = {url}
    waiting: deque[tuple[str, int]] = deque([(url, 0)])
    while waiting:
        address, depth = waiting.popleft()
        if time.monotonic() - started > options.CHECK_DEADLINE.value:
            reading.add_limit("check_deadline")
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
                reading.add_limit("index_too_deep")
            elif len(seen) > options.MAX_PARTS.value:
                reading.add_limit("too_many_parts")
            else:
                waiting.append((child, depth + 1))
    if reading.nothing_read:
        raise _no_file_read(reading.parts[1:], reading)
    return reading


def _no_file_read(parts: Sequence[PartReading], reading: Reading) -> NoFileRead:
    failed = [part for part in parts if part.outcome == FAILED]
    limits = [LIMIT_MESSAGES[code] for code in reading.limits_hit]
    return NoFileRead(len(reading.root.summary.get("children", [])), failed[0].message if failed else limits[0])


def _read_part(url: str, known: KnownPart | None, reading: Reading, folder: Path, *, whole: bool) -> PartReading | None:
    is_root = not reading.parts
    try:
        answer = _fetch(url, known, reading, folder, whole=whole)
        if any(answer.url == part.url for part in reading.parts) and answer.url != url:
            return None  # a redirect to a file that is read already
        return _take(url, answer, known, reading, folder)
    except Busy:
        raise  # another run reads the host: the whole check waits
    except (WebError, sandbox.TaskError, Unreadable) as error:
        if is_root:
            raise
        summary = {key: value for key, value in known.summary.items() if key != "notes"} if known else {}
        return PartReading(url, FAILED, summary, error_code=error.code, message=error_message(error))


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


def read_answer(url: str, answer: Answer, folder: Path) -> PartReading:
    """Read a file that was fetched into a folder of its own."""
    return _take(url, answer, None, Reading(), folder)


def read_first(url: str, folder: Path, *, most_files: int = 0) -> PartReading:
    """Read the file at this address. Of an index, try up to `most_files` files until one can be read.

    Raises NoFileRead if all files of an index were tried. If only the first ones failed, the index counts as incomplete
    and names their reason.
    """
    reading = Reading()
    first = _take(url, _fetch(url, None, reading, folder, whole=False), None, reading, folder)
    reading.parts.append(first)
    children = [child for child, _lastmod in first.summary.get("children", []) if child != url][:most_files]
    for child in children:
        part = _read_part(child, None, reading, folder, whole=False)
        if part is None or part.outcome != FAILED:
            return first if len(reading.parts) == 1 else _with_failures(first, reading.parts[1:])
        reading.parts.append(part)
    if children and len(children) == len(first.summary["children"]):
        raise _no_file_read(reading.parts[1:], reading)
    return _with_failures(first, reading.parts[1:]) if children else first


def _with_failures(first: PartReading, failed: Sequence[PartReading]) -> PartReading:
    """Return the index with the reason of its first unreadable file."""
    return replace(first, outcome="incomplete", error_code=failed[0].error_code, message=failed[0].message)


def confirm_gone(urls: list[str], reading: Reading, folder: Path) -> None:
    """Record which of these files return 404 or 410. Other errors decide nothing."""
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
    """Rebuild the error that the sandbox reported as JSON."""
    kind = NotASitemap if said["kind"] == "NotASitemap" else Damaged
    return kind(said["code"], said["message"])


OFFERED = 50
# Files of an index that a preview tries until one can be read.
FILES_TRIED = 3


@dataclass(frozen=True)
class Preview:
    """Result of a preview. For an index `url_count` is 0 and `child_count` is the number of its files."""

    url: str
    kind: str
    url_count: int
    child_count: int
    is_complete: bool
    notes: list[dict[str, Any]]


class SiteFound(Exception):
    """The address is a web page; `sitemaps` are those that the site lists."""

    def __init__(self, sitemaps: list[str]) -> None:
        super().__init__("not a sitemap")
        self.sitemaps = sitemaps


def preview_address(text: str) -> Preview:
    """Read the file at an address. Raises reading errors, or SiteFound with sitemaps to choose from."""
    address = check_url(text.strip())
    with scratch("preview") as folder:
        try:
            part = read_first(address.url, folder, most_files=FILES_TRIED)
        except (NotASitemap, WebError) as error:
            offered = _sitemaps_of(address.url) if _may_be_site(address.url, error) else []
            if offered:
                raise SiteFound(offered) from None
            raise
    children = part.summary.get("children", [])
    return Preview(address.url, str(part.summary["kind"]), part.count, len(children), part.is_read, part.notes)


def _may_be_site(url: str, error: Exception) -> bool:
    return isinstance(error, NotASitemap) or urlsplit(url).path in ("", "/")


def _sitemaps_of(url: str) -> list[str]:
    try:
        return list(fetch_robots(url).sitemaps)[:OFFERED]
    except WebError:
        return []


SAVED_FORM = "watchbook sitemap result 1"
MASS_REMOVAL = "mass_removal: {count:,} URLs disappeared. Check again later to confirm; the result was not saved."


class CheckError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check(url: str, folder: Path, *, against: Path | None, save: Path | None) -> dict[str, Any]:
    saved = _load(against, folder) if against else None
    try:
        reading = read_sitemap(check_url(url.strip()).url, known={}, folder=folder)
    except (WebError, Unreadable, sandbox.TaskError) as error:
        raise CheckError(error.code, error_message(error)) from None
    lists = [_list_of(part) for part in reading.pages if part.lines is not None]
    union = union_of(lists)
    result = _result(url, reading, union)
    if saved is not None:
        _compare(result, saved, lists, is_whole=reading.is_complete)
    if save and "unconfirmed" not in result:
        _save(save, result, lists)
    return result


def _list_of(part: Any) -> PartList:
    return PartList(part.url, part.summary["list_sha256"], part.count, part.lines, bool(part.summary.get("news")))


def _result(url: str, reading: Reading, union: Union) -> dict[str, Any]:
    return {
        "url": url,
        "kind": reading.root.summary["kind"],
        "url_count": union.count,
        "url_hash": union.url_hash,
        "complete": reading.is_complete,
        "notes": [_note(note) for note in [*reading.notes, *repeated_notes(union)]],
        "parts": [
            {
                "url": part.url,
                "url_count": part.count,
                "complete": part.is_read,
                "outcome": part.error_code or part.outcome,
            }
            for part in (reading.pages if reading.root.is_index else reading.parts)
        ],
        "fetch_duration_ms": reading.fetch_ms,
        "parse_duration_ms": reading.parse_ms,
    }


def _note(note: dict[str, Any]) -> str:
    return f"{note['code']}: {note['message']}"


def _compare(result: dict[str, Any], saved: PartList, lists: list[PartList], *, is_whole: bool) -> None:
    """Add the difference to the result. A mass removal is held as for monitors: one check alone does not prove it."""
    with compare([saved], lists, removals=is_whole) as difference:
        gone = chain(difference.items(REMOVED), difference.items(ROLLED_OFF))
        removed = sorted(gone, key=lambda one: str(one["url"]))
        result |= {
            "added": list(difference.items(ADDED)),
            "removed": removed,
            "modified": list(difference.items(MODIFIED)),
        }
        if is_suspect(difference.counts[REMOVED], saved.count, left=result["url_count"]):
            result |= {"complete": False, "removed": [], "unconfirmed": removed}
            result["notes"] = [*result["notes"], MASS_REMOVAL.format(count=len(removed))]


def _save(path: Path, result: dict[str, Any], lists: list[PartList]) -> None:
    """Write the result as first line, then one URL per line in alphabetical order."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"form": SAVED_FORM, **result}, ensure_ascii=False) + "\n")
        for record in union_records(lists):
            file.write(json.dumps(record.as_json(), ensure_ascii=False) + "\n")


def _load(path: Path, folder: Path) -> PartList:
    writer = ListWriter(folder / "saved.lines")
    try:
        with path.open(encoding="utf-8") as file:
            if json.loads(next(file, "{}")).get("form") != SAVED_FORM:
                raise ValueError("another form")
            for line in file:
                row = json.loads(line)
                values = (row.get(name) or "" for name in ("lastmod", "changefreq", "priority"))
                writer.add([write_line(row["url"], *values)])
    except (ValueError, KeyError, AttributeError, TypeError, UnicodeDecodeError):
        writer.discard()
        raise CheckError("bad_file", f"{path} is not a result that --save wrote.") from None
    return writer.finish("saved")
