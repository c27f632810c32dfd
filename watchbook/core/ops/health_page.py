"""The Health page for operators: every source and channel, problems first, each with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core import health as states
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.health import HealthItem
from watchbook.core.ops.source_health import SEGMENTS, Group, count_segments, groups, segment_title
from watchbook.kit import badges
from watchbook.kit.badges import Badge

# Rows until the user asks for all. More than ten thousand watched things would make the page too large.
SHOWN = 50
MOST = 10_000
LONGEST_QUERY = 200


@dataclass(frozen=True)
class Row:
    """One watched thing. The explanation of several rows with the same reason is shown under the first of them."""

    item: HealthItem
    explains: bool

    @property
    def tone(self) -> str:
        """Return the tone of the box: bad, warn or off."""
        return {"bad": "bad", "warn": "warn"}.get(self.item.health.badge().tone, "off")


@dataclass(frozen=True)
class Part:
    """The rows of one source that are shown, and the counts of all its things."""

    group: Group
    rows: Sequence[Row]
    problems: Sequence[Badge]


@staff_required
@require_GET
def health(request: HttpRequest) -> HttpResponse:
    segment = request.GET.get("state", "")
    segment = segment if segment in SEGMENTS else ""
    query = request.GET.get("q", "")[:LONGEST_QUERY].strip()
    found = groups(person_of(request), is_whole_server=True)
    everything = [item for group in found for item in group.items]
    limit = MOST if request.GET.get("all") else SHOWN
    parts, matching = _parts(found, segment, query, limit)
    shown = sum(len(part.rows) for part in parts)
    context = {
        "now": clock.now(),
        "groups": found,
        "parts": parts,
        "segments": _segments(everything, segment),
        "segment": segment,
        "query": query,
        "total": len(everything),
        "problems": problem_badges(count_segments(everything)),
        "shown": shown,
        "matching": matching,
    }
    return render(request, "ops/health.html", context)


def _parts(found: Sequence[Group], segment: str, query: str, limit: int) -> tuple[list[Part], int]:
    """Return the parts with at most `limit` rows, sources with problems first, and how many things match."""
    matching = {group.slug: [item for item in group.items if _matches(item, segment, query)] for group in found}
    parts: list[Part] = []
    left = limit
    for group in sorted(found, key=lambda group: -states.STATES.index(group.health.state)):
        items = matching[group.slug][:left]
        left -= len(items)
        if items:
            parts.append(Part(group, _rows(items), problem_badges(group.counts)))
    return parts, sum(len(items) for items in matching.values())


def _matches(item: HealthItem, segment: str, query: str) -> bool:
    if segment and item.health.state not in SEGMENTS[segment]:
        return False
    return query.lower() in f"{item.title} {item.kind}".lower()


def _rows(items: Sequence[HealthItem]) -> list[Row]:
    rows: list[Row] = []
    known: tuple[str, str] = ("", "")
    for item in items:
        text = (item.health.reason, item.health.remedy)
        rows.append(Row(item, explains=any(text) and text != known))
        known = text
    return rows


def _segments(items: Sequence[HealthItem], chosen: str) -> list[dict[str, Any]]:
    counts = count_segments(items)
    found = [{"name": "", "title": segment_title("all"), "count": len(items)}]
    found += [
        {"name": name, "title": segment_title(name), "count": count}
        for name, count in counts.items()
        if count or name == chosen
    ]
    return found


def problem_badges(counts: dict[str, int]) -> list[Badge]:
    """Return a badge such as "3 Failing" for each segment that needs attention."""
    found = []
    for name in ("failing", "late", "incomplete"):
        if counts[name]:
            badge = badges.find("health", "error" if name == "failing" else name)
            found.append(Badge(f"{counts[name]} {segment_title(name)}", badge.tone, badge.shape))
    return found
