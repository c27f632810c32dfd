"""Charts as SVG from the server. Pure functions: figures in, drawings and a table out.

A value of None was not measured and is hatched; values that are missing at the end are not yet; a zero is a zero.
Every chart is drawn for several widths, so that no label is scaled below reading size; a phone sees half the period.
Put a chart on a page with {% chart drawn _("Items per day") _("30 days") %}<span>Measured …</span>{% endchart %}.
"""

from watchbook.core.ui.charts.areas import areas
from watchbook.core.ui.charts.bars import bars
from watchbook.core.ui.charts.cells import Cell, cells, heat
from watchbook.core.ui.charts.lines import Limit, lines
from watchbook.core.ui.charts.record import Chart, Drawing, Key, Series, Table
from watchbook.core.ui.charts.spark import spark
from watchbook.core.ui.charts.steps import Note, steps

__all__ = [
    "Cell",
    "Chart",
    "Drawing",
    "Key",
    "Limit",
    "Note",
    "Series",
    "Table",
    "areas",
    "bars",
    "cells",
    "heat",
    "lines",
    "spark",
    "steps",
]
