"""Filters and files of lists, without a database."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.base import clock
from watchbook.kit.lists import AtLeast, Choice, Chosen, Column, Days, Flag, Search, Table, Text, exports
from watchbook.kit.lists.filters import RANGE, Span

NOW = datetime(2026, 11, 18, 20, 30, tzinfo=UTC)  # a Wednesday; in Shanghai it is Thursday already
DAYS = Days("days", "Date", "at", zone=lambda: ZoneInfo("Asia/Shanghai"))


@pytest.fixture
def now():
    with clock.set_to(NOW):
        yield


@pytest.mark.parametrize(
    ("asked", "since", "until"),
    [
        ({"days": "today"}, date(2026, 11, 19), date(2026, 11, 19)),
        ({"days": "7d"}, date(2026, 11, 13), date(2026, 11, 19)),
        ({"days": "last_week", "since": "2020-01-01"}, date(2026, 11, 9), date(2026, 11, 15)),
        ({"days": "range", "since": "2026-01-02"}, date(2026, 1, 2), None),
        ({"since": "2026-01-02", "until": "2026-01-03"}, date(2026, 1, 2), date(2026, 1, 3)),
    ],
)
def test_presets_are_days_of_the_zone_of_the_list(now, asked, since, until):
    found = DAYS.read(asked)
    assert (found.since, found.until) == (since, until)


def test_last_day_of_a_range_counts_whole():
    lower, upper = (dict([child]) for child in DAYS.condition(Span(RANGE, date(2026, 1, 2), date(2026, 1, 2))).children)
    assert (lower["at__gte"].isoformat(), upper["at__lt"].isoformat()) == (
        "2026-01-02T00:00:00+08:00",
        "2026-01-03T00:00:00+08:00",
    )


def test_unknown_values_are_named_and_skipped():
    filters = (
        Choice("state", "State", choices=[("a", "A")]),
        Flag("pinned", "Pinned"),
        AtLeast("score", "Score", "score"),
        DAYS,
        Text("author", "Author"),
    )
    asked = {"state": "b", "pinned": "maybe", "score": "many", "since": "1492-10-12", "author": " x\0 "}
    chosen = Chosen.of(filters, asked)
    assert chosen.wrong == ("state", "pinned", "score", "days")
    assert chosen.values == {"author": "x"}
    assert chosen.given() == {"author": "x"}


def test_all_words_must_match_in_one_column():
    condition = Search("q", "Search", columns=("title", "body")).condition("One two")
    assert len(condition.children) == 2
    assert all(len(each.children) == 2 for each in condition.children)


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.dates(date(1970, 1, 1), date(2100, 1, 1)),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30),
    st.sampled_from(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "https://example.com", "a;=1", 'a",=1']),
    st.lists(st.integers(0, 9), max_size=3),
)  # fmt: skip


def table(rows) -> Table:
    return Table("things", (Column("a"), Column("b", lambda row: row.b)), [SimpleNamespace(a=a, b=b) for a, b in rows])


@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_no_cell_of_a_csv_begins_like_a_formula(rows):
    text = "".join(exports.csv_pieces(table(rows)))
    for delimiter in (",", ";", "\t"):
        for line in csv.reader(io.StringIO(text), delimiter=delimiter):
            for cell in line:
                number = cell.removeprefix("-").isdigit()
                assert number or not cell.lstrip('"').startswith(exports.FORMULA), (delimiter, cell)
            if delimiter != ",":
                break  # only the first piece of a line is a cell of its own there
    found = list(csv.reader(io.StringIO(text)))
    assert len(found) == len(rows) + 1 or any("\n" in str(cell) or "\r" in str(cell) for row in rows for cell in row)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_json_lines_keep_every_value(rows):
    lines = "".join(exports.jsonl_pieces(table(rows))).split("\n")[:-1]
    assert [tuple(json.loads(line).values()) for line in lines] == [
        tuple(exports.plain_value(cell) for cell in row) for row in rows
    ]


def test_excel_has_typed_cells_and_says_what_it_shortened():
    moment = datetime(2026, 11, 18, 12, 30, 5, tzinfo=UTC)
    rows = [("=1+1", moment), ("https://example.com/", date(2026, 1, 2)), ("x" * 40_000, 2**60), (True, -2.5)]
    data = b"".join(exports.xlsx_pieces(table(rows)))
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = [list(row) for row in book.worksheets[0].iter_rows(min_row=2)]
    assert (cells[0][0].value, cells[0][0].data_type) == ("=1+1", "s")
    assert cells[0][1].is_date
    assert (cells[1][0].value, cells[1][0].hyperlink) == ("https://example.com/", None)
    assert len(cells[2][0].value) == exports.CELL_LENGTH
    assert cells[2][1].value == str(2**60)
    assert (cells[3][0].value, cells[3][1].value) == (True, -2.5)
    about = {row[0].value: row[1].value for row in book["About"].iter_rows()}
    assert about["Cells shortened to 32,767 characters"] == "1"


def test_full_sheet_is_followed_by_another(monkeypatch):
    monkeypatch.setattr(exports, "SHEET_ROWS", 4)
    data = b"".join(exports.xlsx_pieces(table([(number, number) for number in range(7)])))
    sheets = openpyxl.load_workbook(io.BytesIO(data)).worksheets
    assert [sheet.max_row for sheet in sheets[:-1]] == [4, 4, 2]
    assert [row[0].value for sheet in sheets[:-1] for row in sheet.iter_rows(min_row=2)] == list(range(7))


def test_name_of_a_file_carries_its_time():
    assert exports.file_name("Job runs / 任务", "csv", NOW) == "job-runs-20261118T203000Z.csv"
    assert exports.file_name("任务", "csv", NOW) == "list-20261118T203000Z.csv"
