"""The difference of two snapshots, over the union of their parts."""

from __future__ import annotations

import json
import random
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.systems.sitemaps.compare import (
    ADDED,
    HELD,
    KINDS,
    MINOR,
    MODIFIED,
    REMOVED,
    ROLLED_OFF,
    compare,
    union_of,
)
from watchbook.systems.sitemaps.compare.tests.lists import part, shown
from watchbook.systems.sitemaps.parse.lastmod import instant_text, same_lastmod

DAYS = ["", "2026-01-01", "2026-01-02", "2026-01-02T00:00:00+00:00", "2026-01-02T08:00:00+08:00", "soon"]


def test_change_lists_have_the_shape_of_the_record():
    old = [part({"page1": "2025-01-01", "old-page": "2025-01-01", "same": "2025-01-01"})]
    new = [part({"page1": "2025-01-03", "new-page": "2025-01-03", "same": "2025-01-01", "undated": ""})]
    with compare(old, new) as found:
        assert json.loads("".join(found.json_pieces())) == {
            "added": [
                {"url": "https://e.com/new-page", "lastmod": "2025-01-03"},
                {"url": "https://e.com/undated", "lastmod": None},
            ],
            "removed": [{"url": "https://e.com/old-page"}],
            "modified": [{"url": "https://e.com/page1", "old_lastmod": "2025-01-01", "new_lastmod": "2025-01-03"}],
        }
        assert (found.counts[ADDED], found.counts[REMOVED], found.counts[MODIFIED]) == (2, 1, 1)
        assert not found.is_empty


def test_equal_snapshots_have_an_empty_difference():
    lists = [part({"a": "2025-01-01"}), part({"b": ""})]
    with compare(lists, lists[::-1]) as found:
        assert found.is_empty
        assert "".join(found.json_pieces()) == '{"added": [], "removed": [], "modified": []}'


def test_page_that_moves_to_another_file_is_no_change():
    old = [part({"a": "1", "b": "1", "x": "1"}), part({"c": "1"}), part({"same": "1"})]
    new = [part({"a": "1"}), part({"c": "1", "b": "1", "x": "2"}), part({"same": "1"})]
    with compare(old, new) as found:
        assert shown(found, MODIFIED) == [("x", "1", "2")]
        assert sum(found.counts.values()) == 1


def test_url_removed_from_one_of_two_files_is_not_removed():
    unchanged = part({"a": "2026-01-01", "z": "2026-01-05"})
    old = [part({"a": "2026-01-01", "b": "", "z": "2026-01-01"}), unchanged]
    new = [part({"b": ""}), unchanged]
    with compare(old, new) as found:
        assert found.is_empty
    with compare(new, old) as found:
        assert found.is_empty


def test_newer_date_in_one_of_two_files_is_a_modification():
    unchanged = part({"a": "2026-01-01"})
    with compare([unchanged, part({"b": ""})], [unchanged, part({"a": "2026-01-02", "b": ""})]) as found:
        assert shown(found, MODIFIED) == [("a", "2026-01-01", "2026-01-02")]
        assert found.counts.total() == 1


def test_dates_are_compared_as_instants():
    old = part({"a": "2026-01-01", "b": "2026-01-01T00:00:00Z", "c": "", "d": "soon", "e": "2026-01-01"})
    new = part({"a": "2026-01-01T09:00:00Z", "b": "2026-01-01T01:00:00+01:00", "c": "soon", "d": "later", "e": ""})
    with compare([old], [new]) as found:
        assert shown(found, MODIFIED) == [("c", "", "soon"), ("d", "soon", "later"), ("e", "2026-01-01", "")]
        assert found.counts.total() == 3


def test_changefreq_and_priority_are_recorded_apart():
    old = part([("a", "2026-01-01", "daily", "0.5"), ("b", "2026-01-01", "daily", "0.5")])
    new = part([("a", "2026-01-01", "weekly", "0.5"), ("b", "2026-01-02", "weekly", "0.9")])
    with compare([old], [new]) as found:
        assert found.counts == {MINOR: 1, MODIFIED: 1}
        (change,) = found.changes(MINOR)
        assert (change.old.changefreq, change.new.changefreq) == ("daily", "weekly")


def test_removals_wait_when_not_everything_was_read():
    with compare([part({"a": "", "b": ""})], [part({"a": "", "c": ""})], removals=False) as found:
        assert shown(found, HELD) == [("b", "", None)]
        assert shown(found, ADDED) == [("c", None, "")]
        assert not found.counts[REMOVED]


def test_pages_that_leave_a_news_sitemap_roll_off():
    old = [part({"today": "", "yesterday": "", "both": ""}, news=True), part({"both": "", "page": ""})]
    new = [part({"today": ""}, news=True), part({})]
    with compare(old, new) as found:
        assert shown(found, ROLLED_OFF) == [("yesterday", "", None)]
        assert [path for path, _, _ in shown(found, REMOVED)] == ["both", "page"]


def test_filter_excludes_urls():
    with compare(
        [part({"a/1": "", "b/1": ""})], [part({"a/2": "", "b/2": ""})], keep=lambda url: "/a/" in url
    ) as found:
        assert (shown(found, ADDED), shown(found, REMOVED)) == ([("a/2", None, "")], [("a/1", "", None)])


def test_date_that_goes_back_is_flagged():
    with compare(
        [part({"a": "2026-01-02", "b": "2026-01-01"})], [part({"a": "2026-01-01", "b": "2026-01-02"})]
    ) as found:
        assert [change.is_backwards for change in found.changes(MODIFIED)] == [True, False]


def test_changes_can_be_read_by_two_at_a_time_and_on_disk(monkeypatch):
    monkeypatch.setattr("watchbook.systems.sitemaps.compare._SPOOL_BYTES", 100)
    with compare([], [part({f"{n:05}": "" for n in range(5000)})]) as found:
        first, second = found.changes(ADDED), found.changes(ADDED)
        assert all(one == other for one, other in zip(first, second, strict=True))
        assert found.counts[ADDED] == 5000


def test_odd_addresses_come_back_as_they_were():
    path = "tab\tline\nback\\slash é"
    with compare([], [part({path: ""})]) as found:
        assert shown(found, ADDED) == [(path, None, "")]


pages = st.lists(st.tuples(st.integers(0, 25), st.sampled_from(DAYS), st.sampled_from(["", "daily"])), max_size=30)
shards = st.integers(1, 4)


def sharded(rows, count, seed):
    chance = random.Random(seed)
    rows = list(rows)
    chance.shuffle(rows)
    files = defaultdict(list)
    for number, day, freq in rows:
        files[chance.randrange(count)].append((f"{number:02}", day, freq))
    return [part(rows, name=str(name)) for name, rows in files.items()]


def as_dict(rows):
    """What a plain dictionary keeps: of repeated pages the newest date, then the greatest text."""
    best = {}
    for number, day, freq in rows:
        readable = not instant_text(day.encode()).startswith(b"?") and bool(day)
        rank = (readable, instant_text(day.encode()) if readable else b"", day, freq)
        best[f"{number:02}"] = max(best.get(f"{number:02}", rank), rank)
    return {page: (day, freq) for page, (_, _, day, freq) in best.items()}


@settings(max_examples=examples(200), deadline=None)
@given(pages, pages, shards, shards, st.integers(0, 5))
def test_difference_is_that_of_two_dictionaries(old, new, old_shards, new_shards, seed):
    before, after = as_dict(old), as_dict(new)
    shared = before.keys() & after.keys()
    moved = {page for page in shared if not same_lastmod(before[page][0].encode(), after[page][0].encode())}
    with compare(sharded(old, old_shards, seed), sharded(new, new_shards, seed + 1)) as found:
        assert shown(found, ADDED) == [(page, None, after[page][0]) for page in sorted(after.keys() - before.keys())]
        assert shown(found, REMOVED) == [(page, before[page][0], None) for page in sorted(before.keys() - after.keys())]
        assert shown(found, MODIFIED) == [(page, before[page][0], after[page][0]) for page in sorted(moved)]
        minor = {page for page in shared - moved if before[page][1] != after[page][1]}
        assert [page for page, _, _ in shown(found, MINOR)] == sorted(minor)


@settings(max_examples=examples(100), deadline=None)
@given(pages, pages, shards, shards, st.integers(0, 5))
def test_order_and_sharding_change_nothing(rows, other, some, more, seed):
    once, again = sharded(rows, some, seed), sharded(rows, more, seed + 7)
    assert union_of(once).url_hash == union_of(again).url_hash
    with compare(once, again) as found:
        assert found.counts.total() == 0
    base = sharded(other, some, seed + 3)
    with compare(base, once) as first, compare(base[::-1], again[::-1]) as second:
        for kind in KINDS:
            assert list(first.changes(kind)) == list(second.changes(kind))


@settings(max_examples=examples(100), deadline=None)
@given(pages, pages)
def test_equal_hashes_mean_no_difference(old, new):
    first, second = sharded(old, 2, 1), sharded(new, 2, 2)
    if union_of(first).url_hash == union_of(second).url_hash:
        with compare(first, second) as found:
            assert found.is_empty
