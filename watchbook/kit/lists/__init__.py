"""One list component: search, sort, filters with counts, date presets, keyset paging, export of what is shown.

    RUNS = List(
        "runs",
        filters=(Search("q", _("Search runs"), columns=("name",)), Choice("state", _("State"), choices=STATES),
                 Days("days", _("Date"), "created_at")),
        columns=(Column("id"), Column("name"), Column("created_at")),
    )

    def runs(request):
        shown = RUNS.show(JobRun.objects.all(), request.GET)
        return export(request, shown) or render(request, "jobs/runs.html", {"listing": shown, "page": shown.page})

The template includes "kit/_list_export.html" among its actions, "kit/_list.html" before its rows and "kit/_pager.html"
after them. The API shows the same list with `core.api.lists`. The same address with `format=csv`, `jsonl` or `xlsx` is
the whole list as a file.
"""

from __future__ import annotations

from watchbook.kit.lists.exports import FORMATS, Column, Table
from watchbook.kit.lists.filters import AtLeast, Choice, Chosen, Days, Filter, Flag, Number, Search, Text, WordIndex
from watchbook.kit.lists.shown import Changes, List, Order, Shown, by_time

__all__ = [
    "FORMATS",
    "AtLeast",
    "Changes",
    "Choice",
    "Chosen",
    "Column",
    "Days",
    "Filter",
    "Flag",
    "List",
    "Number",
    "Order",
    "Search",
    "Shown",
    "Table",
    "Text",
    "WordIndex",
    "by_time",
]
