"""States, reasons and counts of notes in the reader's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.moments import number_text
from watchbook.sources.notes import rules
from watchbook.sources.notes.errors import LOST
from watchbook.sources.notes.fetch import refusals
from watchbook.sources.notes.jobs.crawl import STOPPED
from watchbook.sources.notes.models import Execution, ExecutionStatus
from watchbook.sources.notes.store.pool import CANNOT_OPEN

COUNTS = {
    "liked": pgettext_lazy("count", "Liked"),
    "collected": pgettext_lazy("count", "Saved"),
    "comment": pgettext_lazy("count", "Comments"),
    "share": pgettext_lazy("count", "Shared"),
}
# Reasons that are not the platform's own words.
OWN_REASONS: dict[str, str] = {
    "server_trouble": refusals.ILL.message,
    "timed_out": refusals.SLOW.message,
    rules.NOT_ASKED: STOPPED,
}
CODES: dict[str, str] = {
    rules.Code.TIMEOUT_ERROR: refusals.SLOW.message,
    rules.Code.NETWORK_ERROR: refusals.CUT_OFF.message,
    rules.Code.LOCK_LOST: LOST,
}


@dataclass(frozen=True)
class Figure:
    """A count as the platform shows it, and how much that can be believed."""

    name: str
    text: str
    remark: str = ""
    about: str = ""


def figure_of(name: str, count: Any) -> Figure:
    title = str(COUNTS.get(name, name))
    given: Mapping[str, Any] = count if isinstance(count, Mapping) else {}
    value, raw = given.get("value"), str(given.get("raw") or "")
    if not isinstance(value, int):
        return Figure(title, raw, pgettext("count", "not a number")) if raw else Figure(title, "")
    if given.get("exact"):
        return Figure(title, number_text(value))
    if raw.endswith("+"):
        return Figure(title, raw, pgettext("count", "at least"), number_text(value))
    return Figure(title, raw or number_text(value), pgettext("count", "rounded"), number_text(value))


def reason_text(code: str, reason: str, message: str = "") -> str:
    """Why something failed, in a sentence; what has none shows what was stored."""
    if code == CANNOT_OPEN:
        return _("It was sealed with a key that is not here.")
    if code == rules.Code.LOCK_LOST and reason == "timed_out":
        return _("It was locked for 30 minutes without a sign of life, and was freed.")
    meaning = refusals.MEANINGS.get(reason)
    sentence = meaning.message if meaning else OWN_REASONS.get(reason) or CODES.get(code)
    return _(sentence) if sentence else _(message) if message else reason or code


def execution_badge(row: Execution) -> Badge:
    if row.status == ExecutionStatus.COMPLETED:
        return badges.find("job", "partly" if row.items_failed or row.items_returned else "done")
    return badges.find("job", {ExecutionStatus.TIMEOUT: "recovered"}.get(ExecutionStatus(row.status), row.status))
