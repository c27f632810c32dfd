"""Questions about stored pages: changes with values, sections, websites compared, the life of a URL; each as a file."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.systems.pages.models import Page, PageEvent, Site, SiteDay
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.pages.tests.test_lists import publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def website(desk: Desk) -> Site:
    """Three pages, of which one changes its price, one its title, and one leaves; two come later."""
    publish(desk, "/products/1", "/products/2", "/news/1", price="3.90")
    made = desk.website()
    desk.cycle()
    desk.site.write("/products/1", price="4.20")
    desk.site.write("/products/2", title="Pier 2, renamed")
    desk.site.write("/news/1", mood="gone")
    desk.site.remove("/news/1")
    publish(desk, "/products/3", "/blog/1")
    Page.objects.filter(is_listed=True).update(next_at=desk.now)
    desk.cycle(after=timedelta(days=8))
    return made


def answer(desk: Desk, user: User, path: str) -> Any:
    with clock.set_to(desk.now):
        found = client_of(user).get(path)
        assert found.status_code == 200, found.content
        return found.getvalue().decode() if found.streaming else found.json()


def test_titles_and_prices_that_changed_have_both_values(desk: Desk, website: Site) -> None:
    found = answer(desk, desk.user, f"/api/v1/pages/sites/{website.pk}/changes?field=title_or_price")
    values = {item["page"]["url"].rsplit("/", 1)[1]: item["values"] for item in found["items"]}
    assert values["1"] == [{"field": "price", "old": "3.90", "new": "4.20"}]
    assert values["2"][0] == {"field": "title", "old": "About /products/2", "new": "Pier 2, renamed"}
    assert [item["kind"] for item in answer(desk, desk.user, "/api/v1/pages/changes?kind=gone")["items"]] == ["gone"]
    with clock.set_to(desk.now):
        assert client_of(desk.user).get("/api/v1/pages/changes?field=colour").status_code == 422


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_each_answer_is_a_file_too(desk: Desk, website: Site, form: str) -> None:
    page = Page.objects.get(url__endswith="/products/1")
    for path in (
        f"/pages/sites/{website.pk}/changes/?field=price&", f"/pages/sites/{website.pk}/sections/?", "/pages/compare/?",
        f"/pages/{page.pk}/timeline/?", "/pages/changes/?",
    ):  # fmt: skip
        with clock.set_to(desk.now):
            found = client_of(desk.user).get(f"{path}format={form}")
        body = b"".join(found.streaming_content)
        assert body.startswith(b"PK") if form == "xlsx" else len(body.splitlines()) >= 1, path
        assert found["Content-Disposition"].endswith(f'.{form}"'), path


def test_file_of_changes_has_old_and_new_price(desk: Desk, website: Site) -> None:
    text = answer(desk, desk.user, f"/pages/sites/{website.pk}/changes/?field=price&format=jsonl")
    (line,) = [json.loads(row) for row in text.splitlines()]
    assert (line["kind"], line["old_price"], line["new_price"]) == ("changed", "3.90", "4.20")


def test_sections_have_counts_and_trend_of_the_ledger(desk: Desk, website: Site) -> None:
    found = {
        row["section"]: row for row in answer(desk, desk.user, f"/api/v1/pages/sites/{website.pk}/sections")["items"]
    }
    counts = {name: tuple(row[key] for key in ("pages", "new", "changed", "removed")) for name, row in found.items()}
    assert counts == {"/products/": (3, 1, 2, 0), "/news/": (0, 0, 0, 1), "/blog/": (1, 1, 0, 0)}
    assert (found["/blog/"]["trend"][-1], sum(found["/products/"]["trend"])) == (1, 1)


def test_websites_are_compared_by_week(desk: Desk, website: Site) -> None:
    other = Site.objects.create(user=desk.user, name="Other", address="https://example.com/", daily_requests=1)
    SiteDay.objects.create(site=other, day=desk.now.date(), new=7)
    found = answer(desk, desk.user, "/api/v1/pages/compare")
    assert [(row["name"], row["total"]) for row in found["items"]] == [("Other", 7), (website.name, 2)]
    own = found["items"][1]["weeks"]
    assert (own[-1], own[-2], own[0]) == (2, 0, None)
    assert len(found["weeks"]) == len(own)
    rows = list(csv.reader(io.StringIO(answer(desk, desk.user, "/pages/compare/?format=csv"))))
    assert rows[1][0] == "Other"
    assert answer(desk, desk.user, "/api/v1/pages/compare?count=gone")["items"][0]["total"] == 1


def test_timeline_has_the_whole_life_of_a_url(desk: Desk, website: Site) -> None:
    page = Page.objects.get(url__endswith="/news/1")
    kinds = [item["kind"] for item in answer(desk, desk.user, f"/api/v1/pages/{page.pk}/timeline")["items"]]
    assert sorted(kinds) == ["gone", "left", "listed", "version"]
    with clock.set_to(desk.now):
        assert "Left the list" in client_of(desk.user).get(f"/pages/{page.pk}/timeline/").text


def test_answers_need_no_more_queries_for_more_rows(desk: Desk, website: Site) -> None:
    paths = (
        "changes/",
        "changes/?field=price",
        "compare/",
        f"sites/{website.pk}/sections/",
        f"sites/{website.pk}/changes/",
    )

    def count() -> list[int]:
        counts = []
        for path in paths:
            with clock.set_to(desk.now), CaptureQueriesContext(connection) as queries:
                assert client_of(desk.user).get(f"/pages/{path}").status_code == 200
            counts.append(len(queries))
        return counts

    before = count()
    page = Page.objects.get(url__endswith="/products/1")
    Page.objects.bulk_create(
        Page(site=website, url=f"{page.url}{n}", url_digest=str(n), section=f"/s{n}/", first_seen_at=desk.now,
             changed_at=desk.now)
        for n in range(40)
    )  # fmt: skip
    PageEvent.objects.bulk_create(
        PageEvent(site=website, page=page, kind="changed", version=2, fields=",price,", at=desk.now) for _ in range(40)
    )
    Site.objects.bulk_create(
        Site(user=desk.user, name=f"Site {n}", live_key=str(n), address="https://example.com/", daily_requests=1)
        for n in range(20)
    )
    assert count() == before


def test_other_users_get_no_answers(desk: Desk, website: Site, bob: User) -> None:
    page = Page.objects.first()
    assert page is not None
    browser = client_of(bob)
    paths = (
        f"/pages/sites/{website.pk}/sections/",
        f"/pages/{page.pk}/timeline/",
        f"/pages/sites/{website.pk}/changes/",
    )
    assert [browser.get(path).status_code for path in paths] == [404, 404, 404]
    assert answer(desk, bob, "/api/v1/pages/changes")["items"] == []
    assert answer(desk, bob, "/api/v1/pages/compare")["items"] == []
