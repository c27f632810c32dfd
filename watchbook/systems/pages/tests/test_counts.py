"""Counters of pages say what a naive count says: after any history, beside other writers, after deletes."""

from __future__ import annotations

import re
import threading
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.accounts.models import User
from watchbook.core.jobs import runner
from watchbook.core.ops import doctor
from watchbook.systems.pages import actions, reports
from watchbook.systems.pages.filters import Filters, completeness, find, sections
from watchbook.systems.pages.models import (
    Fate,
    Page,
    PageEvent,
    Result,
    SectionCount,
    SectionDay,
    Site,
    SiteDay,
    section_of,
    url_digest,
)
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.tests.conftest import START, Desk
from watchbook.systems.pages.tests.test_lists import publish

URLS = [f"https://harbour.example/{folder}{number}" for folder in ("", "a/", "b/", "c/d/") for number in range(3)]


def naive(site: Site) -> dict[str, dict[str, int]]:
    """What the counters must say, counted page by page without any of their code."""
    found: dict[str, Counter[str]] = {"": Counter()}
    for page in Page.objects.filter(site=site):
        said = Counter({page.fate: 1} if page.fate and not page.is_listed else {})
        if page.is_listed:
            said = Counter(["known", page.result])
            said.update(["read"] * (page.last_read_at is not None) + ["noindex"] * page.is_noindex)
            said.update({"excluded": int(page.is_excluded), "weight": round(page.weight * 1_000_000)})
        found.setdefault(page.section, Counter()).update(said)
        found[""].update(said)
    return {section: {name: count for name, count in said.items() if count} for section, said in found.items()}


def stored(site: Site) -> dict[str, dict[str, int]]:
    rows = SectionCount.objects.filter(site=site).values("section", *counts.NAMES)
    return {row.pop("section"): {name: count for name, count in row.items() if count} for row in rows}


def check(site: Site) -> None:
    wanted, found = naive(site), stored(site)
    assert {name: said for name, said in found.items() if said} == {name: said for name, said in wanted.items() if said}
    assert counts.recount(site, repair=False) == []


def new_site(user: User, **values: Any) -> Site:
    return Site.objects.create(
        user=user, name="Harbour", address="https://harbour.example/", live_key="test:1", daily_requests=10, **values
    )


def new_page(site: Site, url: str, **values: Any) -> Page:
    page = Page(
        site=site, url=url, url_digest=url_digest(url), section=section_of(url), first_seen_at=START, changed_at=START,
        **values,
    )  # fmt: skip
    page.save()
    counts.added([page])
    return page


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, len(URLS) - 1), st.sampled_from(Result.values)),
        st.tuples(st.just("result"), st.integers(0, len(URLS) - 1), st.sampled_from(Result.values)),
        st.tuples(st.just("leave"), st.integers(0, len(URLS) - 1), st.sampled_from(Fate.values)),
        st.tuples(st.just("return"), st.integers(0, len(URLS) - 1), st.just("")),
        st.tuples(st.just("exclude"), st.integers(0, 3), st.sampled_from(["yes", "no"])),
        st.tuples(st.just("read"), st.integers(0, len(URLS) - 1), st.sampled_from(["yes", "no"])),
        st.tuples(st.just("delete"), st.integers(0, len(URLS) - 1), st.just("")),
        st.tuples(st.just("undone"), st.integers(0, len(URLS) - 1), st.sampled_from(Result.values)),
    ),
    min_size=1,
    max_size=25,
)


def play(site: Site, kind: str, number: int, value: str) -> None:
    rows = Page.objects.filter(site=site, url=URLS[number])
    changes: dict[str, dict[str, Any]] = {
        "result": {"result": value, "is_noindex": value == "ok"},
        "leave": {"is_listed": False, "fate": value},
        "return": {"is_listed": True, "fate": ""},
        "read": {"last_read_at": START, "weight": 0.31 if value == "yes" else 0.07, "result": Result.OK},
        "undone": {"result": value},
    }
    if kind == "add":
        if not rows.exists():
            new_page(site, URLS[number], result=value)
    elif kind == "delete":
        with counts.changing(rows):
            rows.delete()
    elif kind == "exclude":
        rows = Page.objects.filter(site=site, section=("/", "/a/", "/b/", "/c/")[number])
        with counts.changing(rows):
            rows.update(is_excluded=value == "yes")
    else:
        with counts.changing(rows):
            rows.update(**changes[kind])


class _Undone(Exception):
    pass


@pytest.mark.django_db(transaction=True)
@given(steps=STEPS)
def test_counters_are_the_naive_count_after_any_history(steps: list[tuple[str, int, str]]) -> None:
    User.objects.all().delete()
    site = new_site(User.objects.create_user(email="alice@example.com", password="correct horse battery"))
    for kind, number, value in steps:
        try:
            with transaction.atomic():
                play(site, kind, number, value)
                if kind == "undone":
                    raise _Undone
        except _Undone:
            pass
    check(site)
    with clock.set_to(START):
        asked = completeness(site, START)
    assert (
        asked["known"] == Page.objects.filter(site=site, is_listed=True).count() == asked["read"] + asked["never_read"]
    )
    assert dict(sections(site)) == Counter(
        Page.objects.filter(site=site, is_listed=True).values_list("section", flat=True)
    )
    for state in (*Result.values, *Fate.values, "never", "noindex", "excluded"):
        for section in ("", "/a/", "/"):
            filters = Filters(section=section, state=state)
            rows = filters.apply(Page.objects.filter(site=site), START)
            found = find(site, filters, {}, START, 50)
            assert ({page.pk for page in found.page}, found.total.count) == (
                set(rows.values_list("pk", flat=True)), rows.count(),
            )  # fmt: skip


def test_whole_life_of_a_website_keeps_counters_and_days_right(desk: Desk) -> None:
    publish(desk, "/a/1", "/a/2", "/b/1", "/c")
    site = desk.website(daily_requests=500)
    desk.cycle()
    check(site)
    desk.site.write("/a/1", title="Another", robots="noindex", paragraphs=["Another text of the first pier."])
    desk.site.write("/a/3", title="Third", paragraphs=["The third pier."])
    desk.site.add("/a/3")
    desk.site.remove("/b/1")
    desk.site.write("/b/1", mood="gone")
    desk.site.write("/c", mood="wall")
    Page.objects.update(next_at=desk.now)
    desk.cycle()
    check(site)
    assert stored(site)[""]["noindex"] == 1
    assert (stored(site)["/b/"], stored(site)["/"]["blocked"]) == ({"gone": 1}, 1)
    with clock.set_to(desk.now):
        actions.add_rule(site, kind="exclude", pattern="/a/")
    desk.cycle()
    check(site)
    assert stored(site)["/a/"]["excluded"] == 3
    _check_days(site)
    with clock.set_to(desk.now):
        actions.delete_site(site, desk.user)
        runner.run_now("pages.forget", {})
    assert not SectionCount.objects.exists()
    assert not SectionDay.objects.exists()


def _check_days(site: Site) -> None:
    """Days of sections together are the days of the website, and each is what pages and events say."""
    names = counts.PER_DAY
    per_day: Counter[tuple[Any, str]] = Counter()
    for row in SectionDay.objects.filter(site=site):
        per_day.update({(row.day, name): getattr(row, name) for name in names})
    whole = {
        (row.day, name): count
        for row in SiteDay.objects.filter(site=site)
        for name, count in zip(names, (row.new, row.changed, row.moved + row.gone + row.delisted), strict=True)
    }
    assert +per_day == +Counter(whole)
    kinds = {PageEvent.CHANGED: "changed", **dict.fromkeys(Fate.values, "removed")}
    happened = Counter(
        (event.page.section, event.at.astimezone(SHANGHAI).date(), kinds[event.kind])
        for event in PageEvent.objects.filter(site=site, kind__in=kinds).select_related("page")
    )
    kept = Counter({
        (row.section, row.day, name): getattr(row, name)
        for row in SectionDay.objects.filter(site=site) for name in ("changed", "removed")
    })  # fmt: skip
    assert +kept == happened
    assert happened


def test_single_addresses_are_counted_when_added_and_deleted(desk: Desk) -> None:
    page = desk.watch("/prices", title="Prices")
    desk.read()
    assert stored(page.site)[""] | {"weight": 0} == {"known": 1, "read": 1, "ok": 1, "weight": 0}
    actions.delete_page(page)
    assert stored(page.site) == {"": {}, "/": {}}


@pytest.mark.django_db(transaction=True)
@pytest.mark.sql
def test_writers_beside_each_other_lose_no_count(alice: User) -> None:
    site = new_site(alice)
    pages = [new_page(site, url) for url in URLS]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(15):
                page = pages[(turn * 5 + number * 3) % len(pages)]
                with transaction.atomic(), counts.changing(Page.objects.filter(pk=page.pk)):
                    Page.objects.filter(pk=page.pk).update(result=Result.values[(turn + number) % 6])
                if turn % 5 == number:
                    counts.recount(site, repair=True)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    check(site)


def test_recount_finds_and_corrects_wrong_and_missing_counters(alice: User, client: Client) -> None:
    site = new_site(alice)
    for url in URLS:
        new_page(site, url)
    assert counts.examine() == ""
    SectionCount.objects.filter(site=site, section="").update(known=7)
    SectionCount.objects.filter(site=site, section="/a/").delete()
    SectionCount.objects.create(site=site, section="/left over/", ok=2)
    assert f"differ from their pages: {site.pk}." in counts.examine()
    (row,) = [check for check in doctor.examine() if check.name == "stored_rows"]
    assert not row.ok
    assert "watchbook pages recount" in row.message
    assert counts.recount(site, repair=True) == ["", "/a/", "/left over/"]
    check(site)
    assert counts.examine() == ""


def test_list_with_ten_thousand_equal_times_is_walked_without_loss(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first list gives all pages one time; and a search that reads only a part at once leaves nothing out."""
    monkeypatch.setattr("watchbook.systems.pages.filters.SCANNED", 40)
    site = new_site(alice)
    urls = [f"https://harbour.example/{'a' if number % 3 else 'b'}/{number}" for number in range(150)]
    pages = [
        new_page(site, url, result=Result.OK if number % 7 == 0 else Result.UNREAD) for number, url in enumerate(urls)
    ]
    later = pages[60:75]
    Page.objects.filter(pk__in=[page.pk for page in later]).update(changed_at=START + timedelta(days=1))
    for filters in (Filters(), Filters(section="/a/"), Filters(state="ok"), Filters(section="/b/", state="ok"),
                    Filters(q="b/1"), Filters(q="nowhere"), Filters(section="/a/", q="7")):  # fmt: skip
        wanted = list(
            filters.apply(Page.objects.filter(site=site), START)
            .order_by("-changed_at", "-pk")
            .values_list("pk", flat=True)
        )
        walked: list[int] = []
        asked: dict[str, str] = {}
        for _turn in range(40):
            found = find(site, filters, asked, START, 10)
            walked += [page.pk for page in found.page]
            asked = {"older": found.page.older}
            if not found.page.older:
                break
        assert walked == wanted, filters


def test_sections_cost_the_same_queries_for_any_number(alice: User, django_assert_num_queries: Any) -> None:
    site = new_site(alice)
    for url in URLS:
        new_page(site, url)
    with django_assert_num_queries(3):
        rows, more = reports.sections(site, START)
    assert [(row.section, row.pages) for row in rows] == [("/", 3), ("/a/", 3), ("/b/", 3), ("/c/", 3)]
    assert more == 0


INDEXES = {
    "": "by_change", "unread": "by_result", "ok": "by_result", "noindex": "by_noindex", "excluded": "by_excluded",
    "never": "by_reading", "moved": "by_fate", "due": "by_next",
}  # fmt: skip


def plan_of(query: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{query}")
        return str(cursor.fetchall())


@pytest.mark.sql
def test_every_list_of_pages_is_read_from_its_index(alice: User) -> None:
    """In its order, so that a list of a million pages costs what one of fifty does."""
    if connection.vendor == "mysql":
        pytest.skip("MariaDB chooses indexes by statistics, which it takes in the background")
    site = new_site(alice)
    read = {"result": Result.OK, "last_read_at": START, "is_noindex": True, "is_excluded": True, "next_at": START}
    pages = [
        Page(
            site=site, url=f"https://harbour.example/{number}", url_digest=f"{number:040x}", section="/",
            first_seen_at=START, changed_at=START,
            **({0: read, 1: {"is_listed": False, "fate": Fate.MOVED}}.get(number % 10, {})),
        )
        for number in range(3_000)
    ]  # fmt: skip
    Page.objects.bulk_create(pages, 500)
    counts.added(pages)
    connection.cursor().execute("ANALYZE web_pages")
    for state, index in INDEXES.items():
        with CaptureQueriesContext(connection) as captured:
            assert len(find(site, Filters(state=state), {}, START, 50).page) == 50
        (query,) = [each["sql"] for each in captured.captured_queries if "LIMIT 51" in each["sql"]]
        plan = plan_of(query)
        assert f"web_page_{index}" in plan, (state, plan)
        assert not {"Sort", "B-TREE"} & set(re.findall(r"[\w-]+", plan)), (state, plan)
