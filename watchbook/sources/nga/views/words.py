"""Titles, states and reasons of the forum in the reader's words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.moments import number_text
from watchbook.sources.nga.models import ChangeReason, CrawlRunThread, ErrorCategory, Thread
from watchbook.sources.nga.parse.reasons import SENTENCES

TRIGGERS = {
    "schedule_12h": pgettext_lazy("trigger", "every 12 hours"),
    "manual": pgettext_lazy("trigger", "by hand"),
    "cron": pgettext_lazy("trigger", "by schedule"),
}
REASONS = {
    ChangeReason.CONTENT: pgettext_lazy("version", "the text changed"),
    ChangeReason.DELETED: pgettext_lazy("version", "deleted by the source"),
    ChangeReason.FOLDED: pgettext_lazy("version", "folded by the source"),
}
CATEGORIES = {
    ErrorCategory.HTTP: pgettext_lazy("category", "request"),
    ErrorCategory.PARSE: pgettext_lazy("category", "answer"),
    ErrorCategory.DB: pgettext_lazy("category", "database"),
    ErrorCategory.UNKNOWN: pgettext_lazy("category", "unknown cause"),
}
REPAIRS = {
    "partial": Badge(pgettext_lazy("audit", "Partly"), "warn", "s-warn"),
    "skipped": Badge(pgettext_lazy("audit", "Skipped"), "", "s-off"),
}


def trigger_text(given: str) -> str:
    return str(TRIGGERS.get(given, given))


def reason_text(given: str) -> str:
    comma = pgettext("list", ", ")
    return comma.join(
        str(REASONS.get(ChangeReason(one), one)) if one in ChangeReason else one for one in given.split(";")
    )


def category_text(given: str | None) -> str:
    return str(CATEGORIES.get(ErrorCategory(given), given)) if given in ErrorCategory.values else given or ""


def repair_badge(status: str) -> Badge:
    return REPAIRS.get(status) or badges.find("audit", status)


def trouble_text(summary: str | None) -> str:
    """`code: the site's words` as a sentence of ours where the code has one, and the site's words after it."""
    code, _colon, rest = (summary or "").partition(":")
    sentence = SENTENCES.get(code)
    if sentence is None:
        return summary or ""
    rest = rest.strip()
    return f"{_(sentence)} {rest}" if rest and rest != sentence else _(sentence)


def requests_text(count: int) -> str:
    return ngettext("%(n)s request", "%(n)s requests", count) % {"n": number_text(count)}


def own_title(thread: Thread) -> str:
    """The title without the prefix that stands before it as a tag."""
    prefix = f"[{thread.title_prefix_text}]"
    rest = thread.title.removeprefix(prefix).strip() if thread.title_prefix_text else thread.title
    return rest or thread.title


def outcome_badge(row: CrawlRunThread) -> Badge:
    """How one topic fared in one run."""
    if row.error_summary or row.http_error_code:
        return badges.find("job", "failed")
    if row.finished_at is None:
        return badges.find("job", "running")
    if row.page_limit_applied:
        return badges.find("floor", "backfilling")
    return badges.find("job", "done")
