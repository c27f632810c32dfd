"""What a reader asks of the list of posts: filters by column, words through the shared search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from watchbook.base.text import clean_text
from watchbook.core.search import query as queries
from watchbook.core.search.find import BadCursor, Hit, find
from watchbook.core.search.query import Query
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.models import PostRaw

KIND = "reddit_post"
STATES = ("live", "edited", "removed", "deleted")
LONGEST = 200
# Days that every database can hold, with room for a zone at both ends.
EARLIEST, LATEST = date(1970, 1, 2), date(2199, 12, 30)
LARGEST_SCORE = 2**31 - 1
# Pages of the word index that are read to fill one page when filters drop most of what is found.
MOST_ROUNDS = 10


@dataclass(frozen=True)
class Wanted:
    """What was asked for; what cannot be read counts as not asked."""

    q: str = ""
    community: str = ""
    author: str = ""
    state: str = ""
    since: date | None = None
    until: date | None = None
    least_score: int | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        given = {each.name: _read(each.name, str(asked.get(each.name) or "")) for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value not in (None, "")})

    @property
    def is_narrow(self) -> bool:
        return self != Wanted()

    def rows(self) -> QuerySet[PostRaw]:
        """Current texts that pass every filter but the words."""
        return actions.posts(
            actions.PostFilter(
                community=self.community,
                author=self.author,
                state=self.state,
                since=_midnight(self.since) if self.since else None,
                until=_midnight(self.until + timedelta(days=1)) if self.until else None,
                least_score=self.least_score,
            )
        )


@dataclass(frozen=True)
class Matches:
    """Posts that hold the words, with what was found in each; `next` is empty at the end."""

    query: Query
    hits: tuple[Hit, ...]
    posts: tuple[PostRaw, ...]
    next: str = ""


def search(wanted: Wanted, scopes: Sequence[str], *, limit: int, cursor: str = "") -> Matches:
    """Posts whose title or text holds every word and that pass the filters: title hits first, then newest."""
    asked = queries.read(wanted.q)
    hits: list[Hit] = []
    posts: list[PostRaw] = []
    for _round in range(MOST_ROUNDS):
        try:
            page = find(asked, scopes=scopes, kinds=[KIND], limit=limit - len(posts), before=cursor or None)
        except BadCursor:
            page = find(asked, scopes=scopes, kinds=[KIND], limit=limit)
        ids = [hit.object_id for hit in page.items]
        passed = {row.source_post_id: row for row in wanted.rows().filter(source_post_id__in=ids)} if ids else {}
        hits += [hit for hit in page.items if hit.object_id in passed]
        posts += [passed[object_id] for object_id in ids if object_id in passed]
        cursor = page.next
        if len(posts) >= limit or not cursor:
            break
    return Matches(asked, tuple(hits), tuple(posts), cursor)


def _midnight(day: date) -> datetime:
    """When a day begins for the reader."""
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone())


def _read(name: str, value: str) -> Any:
    if name in ("since", "until"):
        return _day(value)
    if name == "least_score":
        sign = -1 if value.startswith("-") else 1
        digits = value.removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 12
        return sign * min(int(digits), LARGEST_SCORE) if is_number else None
    text = clean_text(value)[:LONGEST].strip()
    if name == "state":
        return text if text in STATES else None
    return text


def _day(value: str) -> date | None:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if EARLIEST <= day <= LATEST else None
