"""The list of runs: filters, counts and export are those of one declaration, for page, file and API."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import openpyxl
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of, make_person
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.jobs import filters, overview
from watchbook.core.jobs.models import JobRun, State
from watchbook.kit.lists import shown

pytestmark = pytest.mark.django_db
URL, API = "/operations/runs/", "/api/v1/jobs/runs"


@pytest.fixture
def operator():
    return make_person("operator", is_staff=True)


def make_runs(count: int, operator=None) -> None:
    now = clock.now()
    states = State.values
    JobRun.objects.bulk_create(
        JobRun(
            name=("test.work", "test.hourly", "test.wanted")[number % 3],
            queue="crawler_queue",
            key=f"run-{number}",
            state=states[number % len(states)],
            due_at=now,
            created_at=now - timedelta(days=number % 20, minutes=number),
            started_at=now - timedelta(seconds=(10, 900)[number % 2]),
            finished_at=now,
            error=f"=cmd|'/C calc'!A{number}" if number % 5 == 3 else "",
            requested_by=operator if number % 4 == 0 else None,
        )
        for number in range(count)
    )  # fmt: skip


def body(answer) -> bytes:
    return b"".join(answer.streaming_content)


def ids_on_pages(client, asked: dict[str, str]) -> list[int]:
    """Every id that the page shows, from its first page to its last."""
    found: list[int] = []
    place: dict[str, str] = {}
    for _turn in range(30):
        page = client.get(URL, asked | place).context["page"]
        found += [run.pk for run in page]
        if not page.older:
            return found
        place = {"older": page.older}
    raise AssertionError("no end")


ASKED = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from([*State.values, "strange"]),
        "job": st.sampled_from(["test.work", "test.hourly"]),
        "q": st.sampled_from(["calc", "WORK", "hour calc", "%", "nothing"]),
        "days": st.sampled_from(["today", "7d", "last_week", "range"]),
        "since": st.sampled_from(["2026-01-01", "not a day"]),
        "by_user": st.just("1"),
        "long": st.just("1"),
    },
)


@pytest.fixture
def world(operator, settings):
    make_runs(100, operator)
    settings.API_PER_MINUTE = 100_000
    return client_of(operator)


def test_export_holds_exactly_what_the_page_shows_for_any_filters(world):
    @given(ASKED)
    def holds(asked: dict[str, str]) -> None:
        shown_ids = ids_on_pages(world, asked)
        lines = [json.loads(line) for line in body(world.get(URL, asked | {"format": "jsonl"})).splitlines()]
        assert [line["id"] for line in lines] == shown_ids
        table = list(csv.DictReader(io.StringIO(body(world.get(URL, asked | {"format": "csv"})).decode())))
        assert [int(row["id"]) for row in table] == shown_ids

    holds()


def test_api_filters_and_exports_like_the_page(world):
    asked = {"state": "failed", "q": "calc", "days": "7d"}
    answer = world.get(API, asked | {"limit": "200"}).json()
    assert [each["id"] for each in answer["items"]] == ids_on_pages(world, asked) != []
    file = body(world.get(API, asked | {"format": "jsonl"}))
    assert file == body(world.get(URL, asked | {"format": "jsonl"}))


def test_api_refuses_an_unknown_value_by_name(world):
    answer = world.get(API, {"state": "strange", "days": "soon", "format": "csv"})
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["error"]["details"]] == ["state", "days"]
    assert world.get(API, {"format": "pdf"}).status_code == 422


def test_page_names_a_filter_that_it_did_not_apply(world):
    page = squeezed(world.get(URL, {"state": "strange", "days": "7d"}).content.decode())
    assert "Some filters were not applied" in page
    assert "Watchbook does not know the value of: state" in page
    assert "7 days" in page


def test_text_that_looks_like_a_formula_is_none(world):
    rows = list(csv.DictReader(io.StringIO(body(world.get(URL, {"format": "csv", "q": "calc"})).decode())))
    assert rows
    assert all(row["error"].startswith("'=cmd") for row in rows)
    book = openpyxl.load_workbook(io.BytesIO(body(world.get(URL, {"format": "xlsx", "q": "calc"}))))
    sheet = book.worksheets[0]
    head = [cell.value for cell in sheet[1]]
    assert head == [column.name for column in filters.COLUMNS]
    cells = [row[head.index("error")] for row in sheet.iter_rows(min_row=2)]
    assert len(cells) == len(rows)
    assert {cell.data_type for cell in cells} == {"s"}
    assert all(cell.value.startswith("=cmd") and cell.hyperlink is None for cell in cells)
    about = {row[0].value: row[1].value for row in book["About"].iter_rows()}
    assert about["Rows"] == str(len(rows))
    assert about["Search runs"] == "“calc”"


def test_export_is_for_operators_and_in_the_audit_log(world):
    answer = world.get(URL, {"format": "csv", "state": "failed"})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    name = answer.headers["Content-Disposition"].partition('"')[2].rstrip('"')
    assert name.startswith(f"job-runs-{clock.now():%Y%m%d}")
    assert name.endswith(".csv")
    event = AuditEvent.objects.get(event="export.made")
    assert (event.subject, event.details) == (name, {"filters": ["State: Failed"]})
    assert client_of(make_person("bob")).get(URL, {"format": "csv"}).status_code == 403


def test_menu_says_how_many_rows_and_counts_are_capped(world, monkeypatch):
    page = squeezed(world.get(URL, {"state": "failed"}).content.decode())
    assert "<span>CSV</span><small>20 rows</small>" in page
    assert "20 results" in page
    assert "Cancelled (20)" in page  # beside the chosen state the others keep their counts
    monkeypatch.setattr(shown, "SCANNED", 10)
    monkeypatch.setattr(shown.capped_count, "__defaults__", (10,))
    page = squeezed(world.get(URL).content.decode())
    assert "<small>more than 10 rows</small>" in page
    assert "Failed (2+)" in page
    monkeypatch.setattr(shown, "SCANNED", 10_000)
    monkeypatch.setattr(shown, "MOST_COUNTED", 12)
    assert "Failed (12+)" in squeezed(world.get(URL).content.decode())


def test_page_asks_as_much_of_a_long_list_as_of_a_short_one(operator):
    client = client_of(operator)
    make_runs(40, operator)

    def asked() -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            client.get(URL)
        return [each["sql"] for each in queries if "job_runs" in each["sql"]]

    client.get(URL)
    assert len(asked()) == 3  # page, counts of all filters, total
    JobRun.objects.bulk_create(
        JobRun(name=run.name, queue="q", key=f"more-{run.pk}", due_at=run.due_at, created_at=run.created_at)
        for run in JobRun.objects.all()
    )
    assert len(asked()) == 3


def test_run_counts_its_requests_once(monkeypatch):
    # A system may count requests under a name of its own that has the same words.
    monkeypatch.setattr(overview, "figure_title", lambda job, name: "requests" if "request" in name else name)
    run = JobRun(name="test.work", http_request_count=3, progress={"http_request_count": 3, "posts": 1})
    assert list(overview.figures(run)) == [("requests", 3), ("posts", 1)]
