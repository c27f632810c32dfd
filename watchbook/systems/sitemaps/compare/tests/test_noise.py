"""What is noise: pages that always change, dates put on many pages at once."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.systems.sitemaps.compare.reliability import UNKNOWN, advance, always_changing, find_bulk_date, push


def history(bits):
    value = UNKNOWN
    for bit in bits:
        value = push(value, bit == "1")
    return value


def test_page_that_changed_in_four_of_five_checks_always_changes():
    assert always_changing(history("11101"))
    assert always_changing(history("0001111110111"))
    assert not always_changing(history("1111"))
    assert not always_changing(history("11100"))
    assert not always_changing(history("1111100"))
    assert always_changing(history("1111110"))


@settings(deadline=None)
@given(st.text("01", max_size=30))
def test_history_of_seven_checks_is_one_byte(bits):
    value = history(bits)
    assert 1 <= value <= 255
    assert bin(value)[3:] == bits[-7:]


@settings(deadline=None)
@given(st.text("01", max_size=9), st.integers(0, 20))
def test_unrecorded_unchanged_checks_count(bits, quiet):
    assert push(history(bits), True, unchanged_before=quiet) == history(bits + "0" * quiet + "1")


def test_histories_advance_and_end_after_unchanged_checks():
    known = [
        ("https://e.com/a", history("111111")),
        ("https://e.com/b", history("1000000")),
        ("https://e.com/d", history("1")),
    ]
    moved = list(advance(known, ["https://e.com/a", "https://e.com/c"]))
    assert moved == [
        ("https://e.com/a", history("1111111"), True),
        ("https://e.com/c", history("1"), True),
        ("https://e.com/d", history("10"), False),
    ]


@settings(deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcé\\\t"), max_size=4), max_size=12))
def test_many_checks_give_the_history_of_every_page(checks):
    from watchbook.systems.sitemaps.parse.lists import key_for

    kept, bits = [], defaultdict(str)
    for changed in checks:
        kept = [(url, value) for url, value, _ in advance(kept, sorted(changed, key=key_for))]
        for url in changed | bits.keys():
            bits[url] += "1" if url in changed else "0"
    for url, value in kept:
        seen = bin(value)[3:]
        assert bits[url].endswith(seen)
        assert "1" in seen
    for url, text in bits.items():
        assert ("1" in text[-7:]) == (url in dict(kept))


def restamp(values):
    return find_bulk_date(lambda: iter(values))


def test_date_that_half_of_many_pages_got_is_one_line():
    found = restamp(["2026-01-01"] * 20 + [f"2026-02-{day:02}" for day in range(1, 21)])
    assert (found.lastmod, found.count, found.total) == ("2026-01-01", 20, 40)
    assert found.covers("2026-01-01T00:00:00Z")
    assert not found.covers("2026-01-02")
    assert not found.covers(None)


def test_few_pages_or_a_small_share_are_named_one_by_one():
    assert restamp(["2026-01-01"] * 19) is None
    assert restamp(["2026-01-01"] * 20 + [f"2026-02-01T00:{n // 60:02}:{n % 60:02}Z" for n in range(21)]) is None
    assert restamp([]) is None
    assert restamp([None] * 50) is None


@settings(deadline=None)
@given(st.lists(st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03", None]), max_size=90))
def test_vote_finds_what_counting_finds(values):
    found = restamp(values)
    counts = {value: values.count(value) for value in set(values) if value}
    wanted = [value for value, count in counts.items() if count >= 20 and count * 2 >= len(values)]
    assert (found is not None) == bool(wanted)
    if found:
        assert found.lastmod in wanted
        assert found.count == counts[found.lastmod]
