"""Exports of lists: who took which list with which filters is in the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.kit.lists import Shown, Table
from watchbook.kit.lists.exports import file_name, respond


def export(request: HttpRequest, shown: Shown[Any]) -> StreamingHttpResponse | None:
    """The list as a file if its address asks for one (`format=`); the rows are those the caller may see."""
    return export_table(request, shown.table, shown.form) if shown.form else None


def export_table(
    request: HttpRequest, table: Table, form: str, moment: datetime | None = None
) -> StreamingHttpResponse:
    moment = moment or clock.now()
    filters = [f"{title}: {words}" for title, words in table.about]
    audit.record("export.made", subject=file_name(table.name, form, moment), request=request, filters=filters)
    return respond(table, form, moment)
