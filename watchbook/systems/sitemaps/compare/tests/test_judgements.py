"""The guard against mass removal, the honesty of dates, patterns, and renamed pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.systems.sitemaps.compare import pair_renames
from watchbook.systems.sitemaps.compare.reliability import (
    LastmodFacts,
    Patterns,
    count_lastmods,
    is_suspect,
    lastmod_reliability,
)


@pytest.mark.parametrize(
    ("removed", "known", "counts", "suspect"),
    [
        (0, 100, (), False),
        (30, 100, (), False),
        (31, 100, (), True),
        (19, 30, (), False),
        (20, 40, (), True),
        (10, 10, (), True),
        (9, 10, (), False),
        (1, 1, (), True),
        (0, 0, (), False),
        (1815, 13_000, (13_000, 13_000, 13_000), False),
        (40, 100, (1000, 1000, 1000), False),
        (51, 100, (1000, 1000, 1000), True),
        (301, 1000, (1000, 1000, 1000), True),
        (31, 100, (1000, 1000), True),
        (40, 130, (9, 9, 9, 100, 100, 100, 100, 130), True),
    ],
)
def test_mass_removal_needs_two_checks(removed, known, counts, suspect):
    assert is_suspect(removed, known, counts) is suspect


def test_emptied_list_is_suspect_and_replaced_list_is_not():
    assert is_suspect(3, 3, left=0)
    assert not is_suspect(3, 3, left=3)


def test_reliable_dates_score_high_and_noise_scores_low():
    assert lastmod_reliability(LastmodFacts()) is None
    assert lastmod_reliability(LastmodFacts(given=100)) == 100
    assert lastmod_reliability(LastmodFacts(given=100, unreadable=10, in_future=10)) == 80
    assert lastmod_reliability(LastmodFacts(given=100, modified=200, always_changing=150, restamped=20)) == 15
    assert lastmod_reliability(LastmodFacts(given=1, modified=1, always_changing=1, restamped=1, backwards=1)) == 0


def test_dates_are_counted_with_a_day_of_slack():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    facts = count_lastmods(["2025-01-01", "", "soon", "2026-01-01T23:00:00Z", "2030-01-01"], now=now)
    assert facts == LastmodFacts(given=4, unreadable=1, in_future=1)


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("/blog/", "https://e.com/blog/a", True),
        ("/blog/", "https://e.com/x/blog/a", False),
        ("*/blog/", "https://e.com/x/blog/a", True),
        ("/*.html$", "https://e.com/a.html", True),
        ("/*.html$", "https://e.com/a.html?x", False),
        ("/a$", "https://e.com/a", True),
        ("/a$", "https://e.com/ab", False),
        ("/?page=", "https://e.com/?page=2", True),
        ("/", "https://e.com", True),
        ("https://e.com/shop/*/reviews", "https://e.com/shop/12/reviews/3", True),
        ("https://e.com/shop/*/reviews", "https://e.com/shop/reviews", False),
        ("*a*b*c$", "xxabxbc", True),
        ("*ab*bc$", "abc", False),
        ("*", "https://e.com/", True),
        ("/[a-z]+", "https://e.com/abc", False),
    ],
)
def test_patterns_are_those_of_robots_files(pattern, url, matches):
    assert Patterns.of(include=[pattern]).matches(url) is matches
    assert Patterns.of(exclude=[pattern]).matches(url) is not matches


def test_exclusion_wins_and_empty_lines_mean_nothing():
    patterns = Patterns.of(include=["/blog/", "", "  "], exclude=["/blog/draft"])
    assert patterns.matches("https://e.com/blog/a")
    assert not patterns.matches("https://e.com/blog/draft-1")
    assert not patterns.matches("https://e.com/shop")
    assert not Patterns.of(include=[" "])
    assert Patterns.of().matches("https://e.com/")


def test_hostile_pattern_takes_bounded_time():
    assert not Patterns.of(include=["*a" * 1000 + "$"]).matches("a" * 999 + "b" * 20_000)


@settings(deadline=None)
@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=5), st.text("ab", max_size=12), st.booleans())
def test_patterns_agree_with_regular_expressions(pieces, text, to_end):
    import re

    regex = ".*".join(map(re.escape, pieces)) + ("$" if to_end else "")
    pattern = "*".join(pieces) + ("$" if to_end else "")
    if pattern.strip():
        assert Patterns.of(include=[pattern]).matches(text) is bool(re.match(regex, text))


def renamed(removed, added):
    return [
        (pair.old_url.rpartition("e.com")[2], pair.new_url.rpartition("e.com")[2])
        for pair in pair_renames(removed, added)
    ]


def test_pages_with_nearly_the_same_name_are_paired():
    removed = [
        "https://e.com/blog/how-to-brew-coffee",
        "https://e.com/2023/05/hello-world.html",
        "https://e.com/about-us",
    ]
    added = ["https://e.com/guides/how-to-brew-good-coffee/", "https://e.com/hello-world", "https://e.com/contact"]
    assert renamed(removed, added) == [
        ("/2023/05/hello-world.html", "/hello-world"),
        ("/blog/how-to-brew-coffee", "/guides/how-to-brew-good-coffee/"),
    ]


def test_other_numbers_are_other_pages():
    assert renamed(["https://e.com/p/12345"], ["https://e.com/p/12346"]) == []
    assert renamed(["https://e.com/report-2023"], ["https://e.com/report-2024"]) == []
    assert renamed(["https://e.com/best-cards-2023"], ["https://e.com/best-cards"]) == [
        ("/best-cards-2023", "/best-cards")
    ]


def test_no_page_is_paired_twice_and_any_script_will_do():
    assert renamed(["https://e.com/guide-one"], ["https://e.com/a/guide-one", "https://e.com/b/guide-one"]) == [
        ("/guide-one", "/a/guide-one")
    ]
    chinese = renamed(["https://e.com/%E5%92%96%E5%95%A1%E6%8C%87%E5%8D%97"], ["https://e.com/wiki/咖啡指南"])
    assert len(chinese) == 1


def test_pairing_compares_a_bounded_number_of_pages():
    removed = (f"https://e.com/old/page-about-topic-{chr(97 + n % 26) * 4}" for n in range(10**9))
    added = (f"https://e.com/new/page-about-topic-{chr(97 + n % 26) * 4}" for n in range(10**9))
    assert len(pair_renames(removed, added)) <= 2_000
