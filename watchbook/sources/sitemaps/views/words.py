"""States, notes, errors and dates of a sitemap in the reader's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from watchbook.core.ui import badges, moments
from watchbook.sources.sitemaps.models import Health, MonitorTask, Status
from watchbook.sources.sitemaps.parse.lastmod import DAY, MONTH, Lastmod, read_lastmod
from watchbook.sources.sitemaps.sentences import note_text

FAILED = (Health.FAILING, Health.BLOCKED, Health.NOT_A_SITEMAP)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

KINDS = {
    "urlset": gettext_lazy("Sitemap"),
    "index": gettext_lazy("Sitemap index"),
    "text": gettext_lazy("Text list"),
    "rss": gettext_lazy("RSS feed"),
    "atom": gettext_lazy("Atom feed"),
    "rdf": gettext_lazy("RDF feed"),
}
OUTCOMES = {
    "ok": pgettext_lazy("file", "read"),
    "not_modified": pgettext_lazy("file", "unchanged"),
    "incomplete": pgettext_lazy("file", "cut short"),
    "over-limit": pgettext_lazy("file", "too large"),
    "failed": pgettext_lazy("file", "not read"),
    "carried": pgettext_lazy("file", "carried over"),
    "left_index": pgettext_lazy("file", "left its index"),
}


def kind_text(kind: str) -> str:
    return str(KINDS.get(kind, kind))


def outcome_text(outcome: str) -> str:
    return str(OUTCOMES.get(outcome, outcome))


def monitor_badges(monitor: MonitorTask) -> list[badges.Badge]:
    """The state, and what is odd about the last check; the worst one last."""
    found = [badges.find("monitor", monitor.status)]
    if monitor.status == Status.ACTIVE and monitor.health in (Health.DEGRADED, Health.SUSPECT):
        found.append(badges.find("monitor", monitor.health))
    return found


@dataclass
class GatheredNote:
    """One oddity in all the files that have it."""

    text: str
    parts: list[str] = field(default_factory=list)
    more: int = 0


PARTS_NAMED = 3


def gather(notes: Iterable[Mapping[str, Any]]) -> list[GatheredNote]:
    """Notes of all files, each sentence once with the first files it is said of."""
    found: dict[str, GatheredNote] = {}
    for note in notes:
        gathered = found.setdefault(text := note_text(note), GatheredNote(text))
        part = str(note.get("part", ""))
        if part and len(gathered.parts) < PARTS_NAMED:
            gathered.parts.append(part)
        elif part:
            gathered.more += 1
    return list(found.values())


def lastmod_text(raw: str | None) -> str:
    """A modification date as the reader writes dates; what is no date stays as the site wrote it."""
    if not raw:
        return _("no lastmod")
    found = read_lastmod(raw)
    if found is None or found.precision < MONTH:
        return raw
    # A date without a time is the writer's own day; moving it into another zone would show another date.
    if found.precision <= DAY:
        return moments.day_text(_day(found)) if found.precision == DAY else raw
    return moments.moment_text(_EPOCH + timedelta(microseconds=found.nanoseconds // 1000), "short")


def _day(found: Lastmod) -> date:
    return (_EPOCH + timedelta(microseconds=found.nanoseconds // 1000)).date()


def requests_text(count: int) -> str:
    return ngettext("%(n)s request", "%(n)s requests", count) % {"n": moments.number_text(count)}


def urls_text(count: int) -> str:
    return ngettext("%(n)s URL", "%(n)s URLs", count) % {"n": moments.number_text(count)}


def span_of(days: tuple[date, date]) -> str:
    first, last = (moments.day_text(day) for day in days)
    return first if first == last else _("%(first)s to %(last)s") % {"first": first, "last": last}
