"""The union of all parts and its hash."""

from __future__ import annotations

from watchbook.systems.sitemaps.compare import union_of, union_records
from watchbook.systems.sitemaps.compare.tests.lists import part


def hash_of(*parts):
    return union_of(parts).url_hash


def test_each_page_counts_once():
    union = union_of([part({"a": "2026-01-01", "b": ""}), part({"a": "2026-01-02", "c": ""})])
    assert (union.count, union.repeated) == (3, 1)


def test_hash_covers_address_and_instant_only():
    base = hash_of(part([("a", "2026-01-01", "daily", "0.5")]))
    assert len(base) == 64
    assert base == hash_of(part([("a", "2026-01-01", "weekly", "0.9")]))
    assert base == hash_of(part({"a": "2026-01-01T00:00:00Z"}))
    assert base == hash_of(part({"a": "2026-01-01T08:00:00+08:00"}))
    assert base == hash_of(part({"a": "Thu, 01 Jan 2026 00:00:00 GMT"}))
    assert base != hash_of(part({"a": "2026-01-02"}))
    assert base != hash_of(part({"a": ""}))
    assert base != hash_of(part({"b": "2026-01-01"}))
    assert hash_of(part({"a": "soon"})) != hash_of(part({"a": "later"}))


def test_hash_of_nothing_is_a_hash():
    assert union_of([]).count == 0
    assert hash_of() == hash_of(part({}))


def test_records_come_in_the_order_of_their_addresses():
    records = union_records([part({"c": "", "a": "2026-01-01"}), part({"b": "", "a": "2026-01-02"})])
    assert [(record.url, record.lastmod) for record in records] == [
        ("https://e.com/a", "2026-01-02"),
        ("https://e.com/b", ""),
        ("https://e.com/c", ""),
    ]


def test_many_parts_are_walked_together():
    parts = [part({f"{n * 37 % 1000:04}-{shard}": "2026-01-01" for n in range(300)}) for shard in range(60)]
    together = part({f"{n * 37 % 1000:04}-{shard}": "2026-01-01" for n in range(300) for shard in range(60)})
    assert hash_of(*parts) == hash_of(together)
