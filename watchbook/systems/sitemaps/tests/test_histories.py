"""Random histories of a site: whatever happens, the records say exactly what the ledger says."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from standins.sitemap_site import SitemapSite
from watchbook.base.testing.environment import examples
from watchbook.core.accounts.models import User
from watchbook.systems.sitemaps.models import Health, MonitorTask
from watchbook.systems.sitemaps.store.lists import change_items, snapshot_urls
from watchbook.systems.sitemaps.tests.conftest import Watch, trust

PAGES = [f"/p{n:02}" for n in range(40)]
WORLD_STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(PAGES)),
    st.tuples(st.just("remove"), st.sampled_from(PAGES)),
    st.tuples(st.just("edit"), st.sampled_from(PAGES)),
    st.tuples(st.just("split"), st.integers(1, 5)),
    st.tuples(st.just("deal"), st.integers(2, 5)),
    st.tuples(st.just("shuffle"), st.integers(1, 9)),
    st.tuples(st.just("validate"), st.sampled_from(["strong", "weak", "none"])),
)
FAULTS = st.sampled_from(["none", "none", "none", "fail_child", "truncate_child", "outage", "html", "empty", "reset"])
HISTORIES = st.lists(st.tuples(st.lists(WORLD_STEPS, max_size=6), FAULTS), min_size=2, max_size=7)


def live(site: SitemapSite, steps: list[tuple[str, object]], day: int) -> None:
    for number, (kind, what) in enumerate(steps):
        known = {page.url for page in site.world_at(site.mark())}
        stamp = f"2026-05-{day:02}T{number:02}:00:00Z"
        if kind == "add" and site.page_url(what) not in known:
            site.add(what, lastmod=stamp)
        elif kind == "remove" and site.page_url(what) in known and len(known) > 1:
            site.remove(what)
        elif kind == "edit" and site.page_url(what) in known:
            site.edit(what, lastmod=stamp)
        elif kind in ("split", "deal"):
            getattr(site, kind)(what)
        elif kind == "shuffle":
            site.shuffle(what)
        elif kind == "validate":
            site.validate(etag=what)


def break_it(site: SitemapSite, fault: str, stack: ExitStack) -> None:
    """Something goes wrong at this check, or nothing does."""
    if fault in ("fail_child", "truncate_child") and site.children():
        stack.enter_context(getattr(site, fault)(1))
    elif fault == "outage":
        stack.enter_context(site.faults.on("*").answer(503))
    elif fault == "html":
        stack.enter_context(site.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>"))
    elif fault == "empty":
        stack.enter_context(site.faults.on("*").answer(200, body=b""))
    elif fault == "reset":
        stack.enter_context(site.faults.on("*").reset_before_headers())


def listed(snapshot) -> dict[str, str | None]:
    with tempfile.TemporaryDirectory() as folder:
        return {row["url"]: row["lastmod"] for row in snapshot_urls(snapshot, Path(folder))}


def world(site: SitemapSite, mark: int) -> dict[str, str | None]:
    return {page.url: page.lastmod for page in site.world_at(mark)}


def apply(state: dict[str, str | None], record) -> None:
    for item in change_items(record, "removed"):
        del state[item["url"]]
    for item in change_items(record, "added"):
        assert item["url"] not in state
        state[item["url"]] = item["lastmod"]
    for item in change_items(record, "modified"):
        assert state[item["url"]] == item["old_lastmod"]
        state[item["url"]] = item["new_lastmod"]


@pytest.mark.slow
@pytest.mark.django_db
@settings(
    max_examples=examples(50), deadline=None, derandomize=True,
    phases=[Phase.generate],  # a history is short enough to be read as it is; shrinking one takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(first=st.sets(st.sampled_from(PAGES), min_size=1), history=HISTORIES)
def test_records_of_any_history_are_what_the_ledger_says(monkeypatch, first, history):
    MonitorTask.objects.all().delete()
    user, _ = User.objects.get_or_create(email="alice@example.com")
    with SitemapSite() as site:
        trust(monkeypatch, site.netloc)
        site.add_many(sorted(first), lastmod="2026-04-01")
        watch = Watch(user, site)
        watch.check()
        state = listed(watch.monitor.current_snapshot)
        assert state == world(site, site.mark())
        known, was_ok, replay = state.copy(), True, []
        last_mark = site.mark()
        # The last two checks are undisturbed: what waited is decided then.
        for day, (steps, fault) in enumerate([*history, ([], "none"), ([], "none")], 1):
            live(site, steps, day)
            with ExitStack() as stack:
                break_it(site, fault, stack)
                mark, before = site.mark(), watch.newest
                assert watch.check(after=watch.monitor.next_check_at - watch.now)["checked"] == 1
            record = watch.newest if watch.newest.pk != before.pk else None
            if fault in ("outage", "html", "empty", "reset"):
                assert record is None  # a failed fetch concludes nothing
                was_ok = False
                continue
            if record is None:
                # An index whose only file fails is a failure: nothing of it was read.
                assert watch.monitor.health in (
                    {Health.SUSPECT, Health.FAILING} if fault == "fail_child" else {Health.SUSPECT}
                )
                was_ok = False
                continue
            if record.health == Health.DEGRADED:
                assert record.removed_count == 0
            apply(known, record)
            assert known == listed(record.new_snapshot)
            if record.health == Health.OK:
                assert known == world(site, mark)
                if was_ok:
                    truth = site.changes_between(last_mark, mark)
                    counts = (record.added_count, record.removed_count, record.modified_count)
                    assert counts == (len(truth.added), len(truth.removed), len(truth.modified))
                last_mark = mark
                replay.append((record.created_at, mark))
            was_ok = record.health == Health.OK
        assert known == world(site, site.mark())
        for moment, mark in replay:
            then = watch.monitor.change_records.filter(created_at__lte=moment).order_by("-created_at").first()
            assert listed(then.new_snapshot) == world(site, mark)
