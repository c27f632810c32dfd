from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from django.utils import timezone, translation

from watchbook.kit.charts import Cell, Limit, Note, Series, areas, bars, cells, checks, heat, lines, spark, steps
from watchbook.kit.charts.bars import level_of
from watchbook.kit.charts.svg import hatched, make_frame, round_steps, runs, spread, ticks

pytestmark = pytest.mark.usefixtures("noon")

DAYS = [date(2026, 2, 1) + timedelta(days=index) for index in range(30)]


def tree(svg):
    return ElementTree.fromstring(str(svg))


def titles(svg):
    return [node.text for node in tree(svg).iter("title")]


def first_day(minutes=(0, 60, 120, 180), now=200):
    """A baseline, a change, a failed check and a check without news."""
    start = datetime(2026, 3, 1, 1, 2, tzinfo=UTC)
    moments = [start + timedelta(minutes=minute) for minute in minutes]
    rows = [Series("new", [0, 5, None, 0][: len(moments)], "c-add"), Series("gone", [0, 2, None, 0], "c-del")]
    now = start + timedelta(minutes=now)
    return checks(moments, rows, now=now, first="first check, 9", label="finding", below=["gone"])


def every_chart():
    ups = [5] * 30
    hours = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(24)]
    return {
        "bars": bars(DAYS, [Series("A", ups, "sys-a"), Series("B", [None, *ups[1:]], "sys-b")], label="finding"),
        "steps": steps(DAYS, [100 + day for day in range(30)], added=ups, removed=ups, label="finding", title="URLs"),
        "lines": lines(hours, [Series("p50", [1.5] * 24)], limits=[Limit("90 max", 90)], label="finding"),
        "areas": areas(DAYS, [Series("One", ups), Series("Two", ups)], label="finding"),
        "heat": heat(DAYS[:7], [[1] * 24] * 6 + [[1] * 5], label="finding"),
        "checks": first_day(),
    }


@pytest.mark.parametrize("kind", ["bars", "steps", "lines", "areas", "heat", "checks"])
def test_every_drawing_is_well_formed_and_says_its_finding(kind):
    chart = every_chart()[kind]
    assert [drawing.size for drawing in chart.drawings][:2] == ["s", "m"]
    for drawing in chart.drawings:
        root = tree(drawing.svg)
        assert (root.get("role"), root.get("aria-label")) == ("img", "finding")
        assert "style=" not in drawing.svg
        assert "url(" not in drawing.svg


@pytest.mark.parametrize("kind", ["bars", "steps", "lines", "areas", "heat", "checks"])
def test_every_drawing_stays_inside_its_view(kind):
    for drawing in every_chart()[kind].drawings:
        _, _, width, height = (float(part) for part in tree(drawing.svg).get("viewBox").split())
        for node in tree(drawing.svg).iter("rect"):
            assert 0 <= float(node.get("x")) <= width
            assert float(node.get("y")) + float(node.get("height")) <= height
        for node in tree(drawing.svg).iter("text"):
            assert 0 <= float(node.get("x")) <= width
            assert 0 <= float(node.get("y")) <= height


def test_hostile_names_are_escaped():
    chart = bars(DAYS, [Series('<script>"', [1] * 30, 'x" onload="y'), Series("&", [1] * 30)], label='"><script>')
    for drawing in chart.drawings:
        assert "<script" not in drawing.svg
        assert 'onload="' not in drawing.svg
        tree(drawing.svg)


def test_not_measured_is_hatched_and_is_not_a_zero():
    values = [10] * 30
    values[20] = None
    with_gap = bars(DAYS, [Series("A", values)], label="x")
    with_zero = bars(DAYS, [Series("A", [0 if value is None else value for value in values])], label="x")
    assert "c-hatch" in with_gap.drawings[1].svg
    assert "c-hatch" not in with_zero.drawings[1].svg
    assert with_gap.table.rows[9][1] == "no data"
    assert with_zero.table.rows[9][1] == "0"
    assert [key.title for key in with_gap.keys] == ["no data"]
    assert not with_zero.keys


def test_not_yet_is_an_empty_axis():
    chart = bars(DAYS, [Series("A", [10] * 28)], label="x")
    assert "c-hatch" not in chart.drawings[1].svg
    assert len(chart.table.rows) == 28


def test_phone_sees_half_the_period():
    chart = bars(DAYS, [Series("A", range(1, 31))], label="x")
    assert len([title for title in titles(chart.drawings[0].svg) if title]) == 15
    assert len([title for title in titles(chart.drawings[1].svg) if title]) == 30
    assert titles(chart.drawings[0].svg)[-1] == "2 Mar: 30"


def test_day_with_several_systems_names_each_in_its_title():
    chart = bars(DAYS[:8], [Series("Forum", [3] * 8), Series("Notes", [4] * 8)], label="x")
    assert titles(chart.drawings[1].svg)[0] == "1 Feb: 7\nForum 3\nNotes 4"
    assert chart.table.head == ("When", "Forum", "Notes", "All")


def test_dates_are_written_as_the_reader_writes_them():
    with translation.override("zh-hans"):
        chart = bars(DAYS[:8], [Series("A", [3] * 8)], label="x")
    assert titles(chart.drawings[1].svg)[0] == "02-01: 3"


def test_hours_are_the_readers_hours():
    hours = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(24)]
    with timezone.override("Asia/Shanghai"):
        chart = lines(hours, [Series("p50", range(24))], label="x")
    assert "1 Mar 08:00: p50 0" in titles(chart.drawings[1].svg)


def test_line_is_broken_where_nothing_was_measured():
    values = [1.0] * 10 + [None] * 3 + [2.0] * 11
    hours = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(24)]
    svg = lines(hours, [Series("p50", values, "c-h5")], label="x").drawings[1].svg
    assert len(re.findall('class="c-line c-h5"', svg)) == 2


def test_table_of_lines_has_no_sum():
    hours = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(2)]
    chart = lines(hours, [Series("p50", [1, 2]), Series("p95", [3, 4])], label="x")
    assert chart.table.head == ("When", "p50", "p95")


def test_area_is_whole_only_when_every_share_was_measured():
    chart = areas(DAYS, [Series("One", [1] * 30), Series("Two", [1] * 14 + [None] + [1] * 15)], label="x")
    assert "c-hatch" in chart.drawings[1].svg


def test_step_line_notes_a_place_and_counts_changes():
    chart = steps(
        DAYS,
        [None if day == 3 else 100 for day in range(30)],
        added=[0] * 29 + [412],
        removed=[9] + [0] * 29,
        label="x",
        title="URLs",
        notes=[Note(20, "confirmed in 2 checks")],
    )
    assert "confirmed in 2 checks" in chart.drawings[1].svg
    assert chart.table.rows[0] == ("2 Mar", "100", "412", "0")
    assert [key.title for key in chart.keys] == ["URLs", "added", "removed", "no data"]


def test_step_line_counts_in_whole_things_and_keeps_its_notes_inside():
    words = "removed, and confirmed in 2 checks"
    quiet = {"added": [0] * 30, "removed": [0] * 30, "label": "x", "title": "URLs"}
    chart = steps(DAYS, [40] * 30, notes=[Note(29, words)], **quiet)
    for drawing in chart.drawings:
        texts = {text.text: float(text.get("x", 0)) for text in tree(drawing.svg).iter() if text.tag.endswith("text")}
        assert "40" in texts
        assert not [text for text in texts if text.replace(".", "").isdigit() and "." in text]
        if words in texts:
            width = float(tree(drawing.svg).get("viewBox").split()[2])
            assert texts[words] + len(words) * 3.5 < width


def test_empty_series_is_drawn_without_a_fault():
    for chart in (bars([], [], label="x"), lines([], [], label="x"), areas(DAYS, [], label="x")):
        assert chart.drawings


@pytest.mark.parametrize("values", [[], [None], [0], [0, 0], [5], [1, None, 3], [-1, 2]])
def test_spark_takes_whatever_was_measured(values):
    root = tree(spark(values, label="last 14 days", css="sys-a"))
    assert root.get("class") == "spark sys-a"
    assert "nan" not in ElementTree.tostring(root, "unicode")


def test_spark_marks_the_last_point_only_when_it_was_measured():
    assert "circle" in spark([1, 2], label="x")
    assert "circle" not in spark([1, None], label="x")


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 7), (0, 1781), (46_900, 48_212), (0, 0), (0, 0.4), (3, 3), (0, 10**9), (12.5, 13.1)]
)
def test_steps_of_the_axis_are_round_and_few(low, high):
    found = round_steps(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert 2 <= len(found) <= 7
    assert len({round(b - a, 9) for a, b in pairwise(found)}) == 1
    assert max(len(str(step)) for step in found) <= 12  # 0.6, not 0.6000000000000001


def test_labels_are_spread_apart_inside_the_plot():
    placed = spread([10, 12, 100], 15, 10, 100)
    assert placed == [10, 25, 100]
    assert spread([99, 100], 15, 10, 100) == [85, 100]


def test_dates_stand_on_mondays():
    assert [DAYS[index].weekday() for index in ticks(DAYS, 8)] == [0] * len(ticks(DAYS, 8))
    year = [date(2026, 1, 1) + timedelta(days=index) for index in range(365)]
    assert len(ticks(year, 12)) <= 12


def test_margin_fits_the_longest_label():
    assert make_frame("m", 0, 2_000_000).left > make_frame("m", 0, 20).left


def test_hatching_is_clipped_to_its_place():
    numbers = [float(number) for number in re.findall(r"[ML](-?[\d.]+) ", hatched(50, 10, 20, 100))]
    assert min(numbers) >= 50
    assert max(numbers) <= 70


def test_runs_are_first_and_last():
    assert runs([True, True, False, True]) == [(0, 1), (3, 3)]


@pytest.mark.parametrize(("value", "level"), [(0, 0), (1, 1), (50, 3), (100, 5)])
def test_heat_has_five_levels_above_nothing(value, level):
    assert level_of(value, 100) == level


def test_map_marks_a_gap():
    svg = cells([Cell("page 1"), Cell("page 2", is_marked=True, href="/x?page=2")], label="2 pages, 1 gap")
    assert titles(svg) == ["page 1", "page 2"]
    assert "c-warn" in svg
    assert 'href="/x?page=2"' in svg


def test_first_day_has_a_mark_for_each_check_and_none_for_the_baseline():
    largest = str(first_day().drawings[-1].svg)
    said = titles(largest)
    assert [text.partition("\n")[2] for text in said if text.startswith("1 Mar")].count("new 5\ngone 2") == 2
    assert sum(text.endswith(": failed") for text in said) == 1
    assert sum(text.endswith("new 0\ngone 0") for text in said) == 2
    assert "first check, 9" in largest
    assert "now" in largest


def test_names_on_the_first_day_are_above_every_mark():
    for drawing in first_day().drawings:
        names = [node for node in tree(drawing.svg).iter("text") if node.text in ("first check, 9", "now")]
        marks = [float(node.get("cy")) - float(node.get("r")) for node in tree(drawing.svg).iter("circle")]
        assert len(names) == 2
        assert max(float(name.get("y")) for name in names) < min(marks)


def test_figures_under_zero_have_a_minus_sign():
    drawn = tree(first_day().drawings[0].svg)
    below = [node.text for node in drawn.iter("text") if (node.text or "").startswith(("-", "−"))]
    assert below
    assert all(text.startswith("−") for text in below)


@pytest.mark.parametrize(("now", "expected"), [(3, "09:03"), (200, "09:30"), (1300, "12:00")])
def test_axis_of_the_first_day_has_round_times_for_minutes_and_hours(now, expected):
    drawn = tree(first_day(minutes=(0,), now=now).drawings[-1].svg)
    written = [node.text for node in drawn.iter("text") if re.fullmatch(r"\d\d:\d\d", node.text or "")]
    assert expected in written
    assert 2 <= len(written) <= 13


def test_few_moments_are_all_named_and_those_of_several_days_by_day():
    hours = [datetime(2026, 3, 1, 15, 57, tzinfo=UTC), datetime(2026, 3, 1, 19, 0, tzinfo=UTC)]
    texts = [node.text for node in tree(lines(hours, [Series("p", [1, 2])], label="x").drawings[-1].svg).iter("text")]
    assert {"23:57", "03"} <= set(texts)
    later = [hours[0], hours[0] + timedelta(hours=72)]
    texts = [node.text for node in tree(lines(later, [Series("p", [1, 2])], label="x").drawings[-1].svg).iter("text")]
    assert {"1 Mar", "4 Mar"} <= set(texts)
