"""Canonical lists: sorted, each page once, whatever their size."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.systems.sitemaps.parse import lists
from watchbook.systems.sitemaps.parse.lists import (
    ListWriter,
    PartList,
    aligned,
    join_sorted,
    key_for,
    key_of,
    opened,
    read_line,
    write_line,
)

# No character below the tab: the reader removes them.
texts = st.text(st.characters(min_codepoint=9, exclude_categories=["Cs"]), max_size=8)


@settings(deadline=None)
@given(st.tuples(texts, texts, texts, texts))
def test_line_gives_back_what_was_written(fields):
    line = write_line(*fields)
    record = read_line(line)
    assert (record.url, record.lastmod, record.changefreq, record.priority) == fields
    assert b"\n" not in line
    assert key_of(line) == key_for(fields[0])


def test_list_is_sorted_tsv_with_its_own_hash():
    writer = ListWriter()
    writer.add([write_line("https://e.com/b", "2026-01-02", "daily", "0.8"), write_line("https://e.com/a")])
    part = writer.finish("name")
    assert part.source == b"https://e.com/a\t\t\t\nhttps://e.com/b\t2026-01-02\tdaily\t0.8\n"
    assert part.sha256 == hashlib.sha256(part.source).hexdigest()
    assert [record.as_json() for record in part.records()][1] == {
        "url": "https://e.com/b",
        "lastmod": "2026-01-02",
        "changefreq": "daily",
        "priority": "0.8",
    }


def test_of_repeated_pages_the_newest_date_counts_in_any_order():
    old, new = (
        write_line("https://e.com/a", "Mon, 06 May 2024 00:00:00 GMT"),
        write_line("https://e.com/a", "2025-01-01"),
    )
    text = write_line("https://e.com/a", "yesterday")
    for order in ([old, new, text], [text, new, old], [new, text, old]):
        writer = ListWriter()
        writer.add(order)
        assert [record.lastmod for record in writer.finish("name").records()] == ["2025-01-01"]


rows = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3)), max_size=60)


@settings(max_examples=examples(60), deadline=None)
@given(rows, st.integers(1, 400))
def test_list_sorted_in_runs_equals_the_list_sorted_in_memory(pages, run_bytes):
    lines = [write_line(f"https://e.com/{page}", f"2026-01-0{day}") for page, day in pages]
    whole, pieces = ListWriter(), ListWriter()
    whole.add(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "RUN_BYTES", run_bytes)
        for line in lines:
            pieces.add([line])
    assert pieces.finish("name") == whole.finish("name")


def test_runs_on_disk_are_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(lists, "RUN_BYTES", 100)
    writer = ListWriter(tmp_path / "list.tsv")
    for number in range(100):
        writer.add([write_line(f"https://e.com/{number % 50}")])
    part = writer.finish("name")
    assert (part.count, writer.taken) == (50, 100)
    assert [path.name for path in tmp_path.iterdir()] == ["list.tsv"]


def test_list_may_be_compressed(tmp_path):
    writer = ListWriter()
    writer.add([write_line(f"https://e.com/{number}") for number in range(1000)])
    plain = writer.finish("name")
    path = tmp_path / "list.zst"
    path.write_bytes(zstandard.compress(plain.source))
    packed = PartList("name", plain.sha256, plain.count, path)
    assert list(packed.records()) == list(plain.records())
    assert list(packed.blocks(100)) != []


lists_of_pages = st.lists(st.lists(st.integers(0, 30), unique=True).map(sorted), max_size=5)


@settings(deadline=None)
@given(lists_of_pages, st.integers(1, 7))
def test_walking_side_by_side_keeps_every_page_together(lists_, size):
    lines = [[write_line(f"{page:03}") for page in pages] for pages in lists_]
    blocks = [iter([each[at : at + size] for at in range(0, len(each), size)]) for each in lines]
    rounds = list(aligned(blocks))
    met = [line for round_ in rounds for line in join_sorted(round_.values())]
    assert met == sorted(line for each in lines for line in each)
    seen_in = [{key_of(line) for part in round_.values() for line in part} for round_ in rounds]
    assert sum(map(len, seen_in)) == len(set().union(*seen_in))


def test_list_that_is_not_sorted_is_an_error_not_a_hang():
    lines = [write_line(page) for page in ("d", "c", "b", "a")]
    with pytest.raises(ValueError, match="not sorted"):
        list(aligned([iter([[line] for line in lines])]))


def many(tmp_path, how_many):
    """The same pages as plain bytes, plain files, packed bytes and packed files."""
    parts = []
    for number in range(how_many):
        writer = ListWriter()
        writer.add([write_line(f"https://e.com/{n * how_many + number:06}") for n in range(200)])
        plain = writer.finish(str(number))
        packed = zstandard.compress(plain.source)
        (tmp_path / f"{number}.tsv").write_bytes(plain.source)
        (tmp_path / f"{number}.zst").write_bytes(packed)
        sources = [plain.source, tmp_path / f"{number}.tsv", packed, tmp_path / f"{number}.zst"]
        parts.append(replace(plain, source=sources[number % 4]))
    return parts


@pytest.mark.parametrize("how_many", [4, 400])
def test_lists_of_all_kinds_are_walked_together(tmp_path, how_many):
    parts = many(tmp_path, how_many)
    with opened(parts) as lists_:
        met = [line for round_ in aligned(lists_) for line in join_sorted(round_.values())]
    assert met == [write_line(f"https://e.com/{n:06}") for n in range(200 * how_many)]


def test_many_lists_do_not_take_as_many_files(tmp_path):
    parts = many(tmp_path, 200)
    before = len(os.listdir("/proc/self/fd"))
    with opened(parts) as lists_:
        rounds = aligned(lists_)
        next(rounds)
        assert len(os.listdir("/proc/self/fd")) <= before + 2
        rounds.close()


def test_list_of_another_kind_keeps_its_own_way_of_giving_lines(tmp_path):
    class Backwards(PartList):
        def blocks(self, size=262_144):
            return (block[::-1] for block in PartList.blocks(self, size))

    parts = [Backwards(part.name, part.sha256, part.count, part.source) for part in many(tmp_path, 20)]
    with opened(parts) as lists_:
        assert all(next(blocks)[0] > b"https://e.com/000020" for blocks in lists_)
