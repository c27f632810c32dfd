"""The settings page says of the cookie only what a crawl with it has shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.systems.nga.health import last_list
from watchbook.systems.nga.models import CrawlRunResult

from .desk import START, make_run

pytestmark = pytest.mark.django_db


def test_cookie_works_since_the_first_list_after_a_failure(monkeypatch):
    monkeypatch.setenv("NGA_COOKIE", "uid=1")
    assert last_list(None) is None
    failed = make_run(START)
    CrawlRunResult.objects.filter(crawl_run=failed).update(is_list_complete=False, error_code="login")
    use = last_list(None)
    assert (use.is_ok, use.other_at, bool(use.answer)) == (False, None, True)
    runs = [make_run(START + timedelta(hours=hours)) for hours in (12, 24)]
    use = last_list(None)
    assert (use.is_ok, use.since, use.at) == (True, runs[0].run_finished_at, runs[1].run_finished_at)
    assert use.other_at == failed.run_finished_at
    assert last_list(runs[1].run_finished_at) is None


def test_crawl_as_a_guest_says_nothing_about_a_cookie():
    make_run(START)
    assert last_list(None) is None
