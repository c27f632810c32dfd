"""Monitors from a file: CSV with a head, or OPML. Bytes in, one record a line out; pure.

Columns may have other common names; columns that are not known are refused by name. Columns that an export adds (state,
counts, dates) are known and not read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree  # type: ignore[import-untyped]

from watchbook.base.text import clean_text

MOST_BYTES, MOST_ROWS = 2_000_000, 5_000
DEPTH = 20
# The parser names this many errors at most. Beyond them it would leave out lines unnamed.
MOST_ERRORS = 50
NAMES = {
    "sitemap_url": ("sitemap_url", "url", "address", "sitemap", "xmlurl", "xml_url", "feed", "feed_url", "link"),
    "name": ("name", "title", "text"),
    "check_interval_minutes": ("check_interval_minutes", "interval", "interval_minutes", "every"),
    "schedule": ("schedule", "cron"),
    "quiet_hours": ("quiet_hours", "quiet"),
    "folder": ("folder", "group", "category"),
    "tags": ("tags", "tag", "labels"),
    "notes": ("notes", "note", "comment", "description"),
    "owner": ("owner", "responsible"),
    "include_patterns": ("include_patterns", "include"),
    "exclude_patterns": ("exclude_patterns", "exclude"),
}
NOT_READ = (
    "id", "status", "health", "kind", "url_count", "last_check_at", "last_success_at", "next_check_at", "last_error",
    "error_count", "created_at", "type", "version", "htmlurl", "html_url",
)  # fmt: skip
FIELDS = {other: name for name, others in NAMES.items() for other in others}
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


class InvalidFile(ValueError):
    """The file cannot be read: `code` is empty, too_large, too_many, no_address, not_xml; `columns` are those that are
    unknown or repeated."""

    def __init__(self, code: str, columns: tuple[str, ...] = ()) -> None:
        super().__init__(code, columns)
        self.code, self.columns = code, columns


@dataclass(frozen=True)
class ImportRow:
    """A line of the file with its values by the names of the API.

    `problem` says why it cannot be imported: surplus (more values than columns), damaged, or quotes (one is missing or
    misplaced: the rest of the file cannot be read).
    """

    line: int
    values: dict[str, str]
    problem: str = ""


def read_file(body: bytes) -> list[ImportRow]:
    """Read a CSV or OPML file. May raise InvalidFile."""
    if len(body) > MOST_BYTES:
        raise InvalidFile("too_large")
    text = _decode(body)
    if not text.strip():
        raise InvalidFile("empty")
    rows = list(_opml(body) if text.lstrip().startswith("<") else _csv(text))
    if len(rows) > MOST_ROWS:
        raise InvalidFile("too_many")
    return rows


def _decode(body: bytes) -> str:
    for name in ("utf-8-sig", "utf-16", "gb18030"):
        if name == "utf-16" and body[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            continue
        try:
            return body.decode(name)
        except UnicodeDecodeError:
            continue
    return body.decode("utf-8", "replace")


def _csv(text: str) -> Iterator[ImportRow]:
    mark = max(",;\t", key=text.lstrip().splitlines()[0].count)
    rows = csv.reader(io.StringIO(text.lstrip()), delimiter=mark, strict=True)
    try:
        names = [_field(name) for name in next(rows)]
    except csv.Error as error:
        raise InvalidFile("not_csv") from error
    unknown = tuple(name.removeprefix("?") for name in names if name.startswith("?"))
    if unknown:
        raise InvalidFile("unknown", unknown)
    if "sitemap_url" not in names:
        raise InvalidFile("no_address")
    repeated = tuple(dict.fromkeys(name for name in names if name and names.count(name) > 1))
    if repeated:
        raise InvalidFile("repeated", repeated)
    before = rows.line_num
    try:
        for cells in rows:
            before = rows.line_num
            values = {name: _plain(cell) for name, cell in zip(names, cells, strict=False) if name and cell.strip()}
            surplus = any(cell.strip() for cell in cells[len(names) :])
            if values or surplus:
                yield ImportRow(rows.line_num, values, "surplus" if surplus else "")
    except csv.Error:
        yield ImportRow(before + 1, {}, "quotes")


def _field(name: str) -> str:
    """The field of a column; empty for one that is not read, with a question mark for one that is not known."""
    key = clean_text(name).strip().lower().replace(" ", "_").replace("-", "_")
    return FIELDS.get(key) or ("" if key in NOT_READ or not key else f"?{name.strip()[:60]}")


def _plain(cell: str) -> str:
    """A cell without the apostrophe that exports put before formulas.

    Control characters stay: an address without them would be another one, and is refused by its line.
    """
    text = cell.strip()
    return text[1:] if text.startswith("'") and text[1:2] in FORMULA else text


def _opml(body: bytes) -> Iterator[ImportRow]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=True)
    root = etree.fromstring(body, parser=parser)
    if root is None or not isinstance(root.tag, str) or root.tag.lower() != "opml":
        raise InvalidFile("not_xml")
    if len(parser.error_log) >= MOST_ERRORS:
        raise InvalidFile("not_xml")
    # The parser continues after an error and leaves out what it cannot read.
    damaged = {entry.line for entry in parser.error_log if entry.level >= etree.ErrorLevels.ERROR}
    seen: set[int] = set()
    waiting = [(node, "", 0) for node in reversed(root.findall("body/outline"))]
    while waiting:
        node, folder, depth = waiting.pop()
        line = node.sourceline or 0
        named = {str(name).lower(): clean_text(str(value)).strip() for name, value in node.attrib.items()}
        title = named.get("title") or named.get("text", "")
        children = node.findall("outline")
        address = named.get("xmlurl") or named.get("url")
        if address or depth == DEPTH or (not children and named.keys() - {"title", "text"}):
            values = {
                "sitemap_url": address or "", "name": title, "folder": folder, "tags": named.get("category", ""),
            }  # fmt: skip
            seen.add(line)
            given = {name: value for name, value in values.items() if value}
            yield ImportRow(line, given, "damaged" if line in damaged else "")
        else:
            path = f"{folder}/{title}".strip("/")
            waiting += [(child, path, depth + 1) for child in reversed(children)]
    yield from (ImportRow(line, {}, "damaged") for line in sorted(damaged - seen))
