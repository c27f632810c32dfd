"""Lists as files: CSV, JSON Lines and Excel, written piece by piece so that memory does not grow with the list.

Every format has the same columns in the same order. JSON Lines keeps the types. In CSV no text is read as a formula by
a spreadsheet: one that begins like a formula gets an apostrophe before it. Excel gets typed cells; formulas and links
are disabled.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.kit.formatting import number_text

CSV, JSONL, XLSX = "csv", "jsonl", "xlsx"
FORMATS = {
    CSV: "text/csv; charset=utf-8",
    JSONL: "application/jsonl; charset=utf-8",
    XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
# A cell that begins so is a formula to a spreadsheet; some read the wide forms of East Asian keyboards the same way.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
ROWS_AT_ONCE = 500
BYTES_AT_ONCE = 64 * 1024
# Limits of the Excel format: rows of a sheet, characters of a cell, digits of a number.
SHEET_ROWS = 1_048_576
CELL_LENGTH = 32_767
EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """One field of an export. `value` reads it from a row: a function, or the name of an attribute."""

    name: str
    value: str | Callable[[Any], Any] = ""

    @property
    def reader(self) -> Callable[[Any], Any]:
        return self.value if callable(self.value) else attrgetter(self.value or self.name)


@dataclass(frozen=True)
class Table:
    """What is written: columns, rows in their order, and what is said about them (Excel only, on its last sheet)."""

    name: str
    columns: Sequence[Column]
    rows: Iterable[Any]
    about: Sequence[tuple[str, str]] = ()

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def records(self) -> Iterator[list[Any]]:
        readers = [column.reader for column in self.columns]
        for row in self.rows:
            yield [read(row) for read in readers]


def file_name(name: str, form: str, moment: datetime | None = None) -> str:
    """Characters that a header cannot carry are dropped."""
    stamp = f"{(moment or clock.now()).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return f"{slugify(name)[:80] or 'list'}-{stamp}.{form}"


def respond(table: Table, form: str, moment: datetime | None = None) -> StreamingHttpResponse:
    """The file as an answer that is written while it is sent; an Excel file is whole before its first byte is sent."""
    pieces = {CSV: csv_pieces, JSONL: jsonl_pieces, XLSX: xlsx_pieces}[form](table)
    answer = StreamingHttpResponse(pieces, content_type=FORMATS[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name(table.name, form, moment)}"'
    answer.headers["Cache-Control"] = "private, no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


class _Echo:
    """Returns what a CSV writer writes."""

    def write(self, text: str) -> str:
        return text


def csv_pieces(table: Table) -> Iterator[str]:
    # Every text in quotes: a semicolon or tab in it separates nothing in any country's spreadsheet.
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_NONNUMERIC)
    batch = [writer.writerow(table.names)]
    for record in table.records():
        batch.append(writer.writerow([safe_cell(value) for value in record]))
        if len(batch) >= ROWS_AT_ONCE:
            yield "".join(batch)
            batch = []
    yield "".join(batch)


def safe_cell(value: Any) -> Any:
    """A value as a CSV cell that no spreadsheet takes for a formula."""
    plain = plain_value(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, (int, float)):
        return plain
    text = cell_text(plain)
    return f"'{text}" if text.startswith(FORMULA) else text


def cell_text(plain: Any) -> str:
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str)


def plain_value(value: Any) -> Any:
    """A value as JSON has it; moments in UTC."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo else value
        return moment.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (dict, list, tuple)):
        return value
    return str(value)


def jsonl_pieces(table: Table) -> Iterator[str]:
    names = table.names
    batch: list[str] = []
    for record in table.records():
        made = dict(zip(names, map(plain_value, record), strict=True))
        # A line separator of Unicode inside a text would end the line for some readers.
        line = (
            json.dumps(made, ensure_ascii=False, default=str).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        )
        batch.append(line + "\n")
        if len(batch) >= ROWS_AT_ONCE:
            yield "".join(batch)
            batch = []
    yield "".join(batch)


def xlsx_pieces(table: Table) -> Iterator[bytes]:
    with scratch("export") as folder:
        path = folder / "list.xlsx"
        _Workbook(table, path, folder).write()
        with path.open("rb") as file:
            while piece := file.read(BYTES_AT_ONCE):
                yield piece


class _Workbook:
    """Writes rows one after the other; only the current one is in memory. A full sheet is followed by another."""

    def __init__(self, table: Table, path: Path, folder: Path) -> None:
        from xlsxwriter import Workbook  # takes a moment to load and most requests export nothing

        self.table = table
        self.book = Workbook(
            str(path),
            {
                "constant_memory": True,
                "tmpdir": str(folder),
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
            },
        )
        self.bold = self.book.add_format({"bold": True})
        self.moment = self.book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self.day = self.book.add_format({"num_format": "yyyy-mm-dd"})
        self.zone = timezone.get_current_timezone()
        self.shortened = 0
        self.rows = 0

    def write(self) -> None:
        with self.book:
            self._begin()
            for record in self.table.records():
                if self.line == SHEET_ROWS:
                    self._begin()
                for place, value in enumerate(record):
                    self._cell(self.line, place, value)
                self.line += 1
                self.rows += 1
            self._about()

    def _begin(self) -> None:
        self.sheet = self.book.add_worksheet()
        self.sheet.freeze_panes(1, 0)
        for place, name in enumerate(self.table.names):
            self.sheet.write_string(0, place, name, self.bold)
        self.line = 1

    def _cell(self, line: int, place: int, value: Any) -> None:
        if isinstance(value, datetime) and value.tzinfo and value.year >= 1900:
            self.sheet.write_datetime(line, place, value.astimezone(self.zone).replace(tzinfo=None), self.moment)
        elif isinstance(value, date) and not isinstance(value, datetime) and value.year >= 1900:
            self.sheet.write_datetime(line, place, datetime(value.year, value.month, value.day), self.day)
        elif isinstance(value, bool):
            self.sheet.write_boolean(line, place, value)
        elif isinstance(value, (int, float)) and abs(value) <= EXACT:
            self.sheet.write_number(line, place, value)
        else:
            self._text(line, place, cell_text(plain_value(value)))

    def _text(self, line: int, place: int, text: str) -> None:
        if len(text) > CELL_LENGTH:
            self.shortened += 1
            text = text[: CELL_LENGTH - 1] + "…"
        if text:
            self.sheet.write_string(line, place, text)

    def _about(self) -> None:
        """Say on a sheet of its own what the file holds and what it leaves out."""
        sheet = self.book.add_worksheet("About")
        lines = [
            (_("Exported"), f"{clock.now().astimezone(self.zone):%Y-%m-%d %H:%M:%S}"),
            (_("Time zone"), str(self.zone)),
            (_("Rows"), number_text(self.rows)),
            *self.table.about,
        ]
        if self.shortened:
            lines.append((_("Cells shortened to 32,767 characters"), number_text(self.shortened)))
        for line, pair in enumerate(lines):
            for place, text in enumerate(pair):
                sheet.write_string(line, place, str(text))
