"""Charts as SVG from the server. Pure functions: figures in, drawings and a table out.

A value of None was not measured and is hatched; values that are missing at the end are not yet; a zero is a zero.
Every chart is drawn for several widths, so that no label is scaled below reading size; a phone sees half the period.
Put a chart on a page with {% chart drawn _("Items per day") _("30 days") %}<span>Measured …</span>{% endchart %}.
"""

from watchbook.kit.charts.bars import Cell, areas, bars, cells, heat
from watchbook.kit.charts.checks import checks
from watchbook.kit.charts.lines import Limit, Note, lines, spark, steps
from watchbook.kit.charts.svg import Chart, Drawing, Key, Series, Table, Value

__all__ = [
    "Cell",
    "Chart",
    "Drawing",
    "Key",
    "Limit",
    "Note",
    "Series",
    "Table",
    "Value",
    "areas",
    "bars",
    "cells",
    "checks",
    "heat",
    "lines",
    "spark",
    "steps",
]
