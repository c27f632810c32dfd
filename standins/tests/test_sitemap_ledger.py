from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from standins.sitemap_site import Bulk, Ledger, Modified, PageRecord
from standins.sitemap_site.ledger import compare
from standins.sitemap_site.moments import same_moment

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def tick(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock) -> Ledger:
    return Ledger(clock)


def page(name: str, lastmod: str | None = None, *more: str) -> PageRecord:
    return PageRecord(f"https://e.com/{name}", lastmod, *more)


def test_past_can_be_read_at_any_moment(ledger, clock):
    ledger.put(page("a", "2026-01-01"))
    first = clock.now
    clock.tick(hours=1)
    ledger.put(page("b"))
    ledger.put(page("a", "2026-01-02"))
    second = clock.now
    clock.tick(hours=1)
    ledger.drop("https://e.com/b")
    assert ledger.world_at(START - timedelta(seconds=1)) == []
    assert ledger.world_at(first) == [page("a", "2026-01-01")]
    assert ledger.world_at(second) == [page("a", "2026-01-02"), page("b")]
    assert ledger.world_at(clock.now) == [page("a", "2026-01-02")]


def test_marks_distinguish_changes_of_one_moment(ledger):
    ledger.put(page("a"))
    before = ledger.mark()
    ledger.put(page("b", "2026-01-01", "daily"))
    middle = ledger.mark()
    ledger.put(page("b", "2026-01-02", "daily"))
    ledger.drop("https://e.com/a")
    changes = ledger.changes_between(before, middle)
    assert changes.added == (page("b", "2026-01-01", "daily"),)
    changes = ledger.changes_between(middle, ledger.mark())
    assert changes.modified == (Modified("https://e.com/b", "2026-01-01", "2026-01-02"),)
    assert changes.removed == (page("a"),)
    assert not changes.is_empty


def test_what_comes_and_goes_between_two_looks_is_no_change(ledger):
    ledger.put(page("a", "2026-01-01"))
    before = ledger.mark()
    ledger.put(page("b"))
    ledger.drop("https://e.com/b")
    ledger.drop("https://e.com/a")
    ledger.put(page("a", "2026-01-01"))
    assert ledger.changes_between(before, ledger.mark()).is_empty


def test_another_spelling_or_another_priority_is_no_modification(ledger):
    ledger.put(page("a", "2026-01-01"))
    ledger.put(page("b", None, "daily", "0.5"))
    before = ledger.mark()
    ledger.put(page("a", "2026-01-01T00:00:00Z"))
    ledger.put(page("b", None, "weekly", "0.5"))
    changes = ledger.changes_between(before, ledger.mark())
    assert changes.is_empty
    assert [one.url for one in changes.respelled] == ["https://e.com/a"]
    assert changes.details == ("https://e.com/b",)


def test_lastmod_that_appears_or_disappears_is_a_modification(ledger):
    ledger.put(page("a", "2026-01-01"))
    ledger.put(page("b"))
    before = ledger.mark()
    ledger.put(page("a"))
    ledger.put(page("b", "2026-01-01"))
    assert [one.new_lastmod for one in ledger.changes_between(before, ledger.mark()).modified] == [None, "2026-01-01"]


def test_nonsense_is_refused(ledger):
    ledger.put(page("a"))
    with pytest.raises(ValueError, match="nothing changes"):
        ledger.put(page("a"))
    with pytest.raises(KeyError):
        ledger.drop("https://e.com/never")
    ledger.drop("https://e.com/a")
    with pytest.raises(KeyError):
        ledger.drop("https://e.com/a")
    assert ledger.mark() == 2


def test_clock_that_is_put_back_does_not_reorder_the_past(ledger, clock):
    clock.tick(days=1)
    ledger.put(page("a"))
    clock.tick(days=-1)
    ledger.put(page("b"))
    assert ledger.world_at(START) == []
    assert len(ledger.world_at(START + timedelta(days=1))) == 2


def test_bulk_pages_are_found_edited_and_removed_like_others(ledger):
    bulk = Bulk("https://e.com", 1000)
    urls = {bulk.page(number).url for number in range(1000)}
    assert len(urls) == 1000
    empty = ledger.mark()
    ledger.put_bulk(bulk)
    before = ledger.mark()
    some = bulk.page(7)
    ledger.put(some._replace(lastmod="2026-05-05"))
    ledger.drop(bulk.page(8).url)
    changes = ledger.changes_between(before, ledger.mark())
    assert changes.modified == (Modified(some.url, some.lastmod, "2026-05-05"),)
    assert changes.removed == (bulk.page(8),)
    assert ledger.current(some.url).lastmod == "2026-05-05"
    assert ledger.current("https://e.com/catalogue/garden/item-00000000-7") is None
    assert len(ledger.changes_between(empty, ledger.mark()).added) == 999
    assert ledger.shelf.count == len(ledger.world_at(ledger.mark())) == 999
    with pytest.raises(ValueError, match="known already"):
        ledger.put_bulk(bulk)


@pytest.mark.parametrize("seed", range(8))
def test_changes_equal_a_plain_comparison_of_both_worlds(ledger, seed):
    life = random.Random(seed)
    marks = [ledger.mark()]
    for step in range(60):
        name = f"p{life.randrange(15)}"
        current = ledger.current(f"https://e.com/{name}")
        if current is not None and life.random() < 0.4:
            ledger.drop(current.url)
        else:
            ledger.put(page(name, f"2026-01-01T00:00:{step:02d}Z", life.choice(["daily", "weekly"])))
        if step == 20:
            ledger.put_bulk(Bulk("https://e.com", 30, seed))
        marks.append(ledger.mark())
    for _ in range(20):
        start, end = sorted(life.sample(marks, 2))
        old = {one.url: one for one in ledger.world_at(start)}
        new = {one.url: one for one in ledger.world_at(end)}
        plain = compare((old.get(url), new.get(url)) for url in old.keys() | new.keys())
        assert ledger.changes_between(start, end) == plain


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2026-01-01", "2026-01-01T00:00:00Z", True),
        ("2026-01-01", "2026-01-01T23:00:00Z", True),
        ("2026-01-01", "2026-01-02", False),
        ("2026", "2026-07", True),
        ("2026-01-01T10:00:00+02:00", "2026-01-01T08:00:00Z", True),
        ("2026-01-01T10:00:00+0200", "2026-01-01T08:00Z", True),
        ("2026-01-01T10:00:00.25Z", "2026-01-01T10:00:00Z", True),
        ("2026-01-01T10:00:00.25Z", "2026-01-01T10:00:00.26Z", False),
        ("2026-01-01 10:00:00", "2026-01-01T10:00:00Z", True),
        ("2026-1-3", "2026-01-03", True),
        ("0000-00-00", "0000-00-00", True),
        ("0000-00-00", "2026-01-01", False),
        ("yesterday", "today", False),
        (None, None, True),
        (None, "2026-01-01", False),
    ],
)
def test_moments_are_compared_at_the_coarser_precision(one, other, same):
    assert same_moment(one, other) is same
    assert same_moment(other, one) is same
