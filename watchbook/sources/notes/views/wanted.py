"""What a list is narrowed by. What cannot be read counts as not asked, and the page says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from watchbook.base.text import clean_text

# Days that every database can hold, with room for a zone at both ends.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
LONGEST = 200


@dataclass(frozen=True)
class Wanted:
    """`wrong` names the fields that could not be read."""

    q: str = ""
    keyword: str = ""
    status: str = ""
    kind: str = ""
    author: str = ""
    since: date | None = None
    until: date | None = None
    wrong: tuple[str, ...] = ()

    @property
    def is_narrow(self) -> bool:
        return any((self.q, self.keyword, self.status, self.kind, self.author, self.since, self.until))

    def between(self, column: str) -> Q:
        """The days of the reader's zone, both included."""
        found = Q()
        if self.since:
            found &= Q(**{f"{column}__gte": _midnight(self.since)})
        if self.until:
            found &= Q(**{f"{column}__lt": _midnight(self.until + timedelta(days=1))})
        return found


def wanted_of(asked: Mapping[str, Any], *, status: tuple[str, ...] = (), kind: tuple[str, ...] = ()) -> Wanted:
    texts = {name: clean_text(str(asked.get(name) or "")).strip()[:LONGEST] for name in ("q", "keyword", "author")}
    wrong: list[str] = []
    for name, choices in (("status", status), ("kind", kind)):
        given = str(asked.get(name) or "")
        texts[name] = given if given in choices else ""
        if given and choices and not texts[name]:
            wrong.append(name)
    days: dict[str, date | None] = {}
    for name in ("since", "until"):
        days[name] = _day(str(asked.get(name) or ""))
        if asked.get(name) and days[name] is None:
            wrong.append(name)
    return Wanted(**texts, since=days["since"], until=days["until"], wrong=tuple(wrong))


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text[:40])
    except ValueError:
        return None
    return day if EARLIEST <= day <= LATEST else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))
