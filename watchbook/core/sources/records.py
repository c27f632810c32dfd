"""Records that recognisers return: what a text is, what can be watched there, and what was added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from watchbook.core.notify.models import NotificationChannel

# Kinds of change that a user can choose to be notified about.
NEW, CHANGED, REMOVED = "new", "changed", "removed"
NOTIFY = (NEW, CHANGED, REMOVED)
NOTIFY_DEFAULT = (NEW, CHANGED)
# How certain a recogniser is: its own address, any address, any text.
CERTAIN, LIKELY, POSSIBLE, FALLBACK = 90, 50, 20, 10
MINUTES_PER_DAY = 1440


@dataclass(frozen=True)
class Found:
    """What a text was recognised as. Nothing has been requested yet.

    `key` is the canonical value (an address, a number, a name); `kind` is one of the recogniser's own words.
    """

    kind: str
    key: str
    title: str
    icon: str
    address: str = ""
    hints: tuple[str, ...] = ()
    rank: int = CERTAIN
    system: str = ""


@dataclass(frozen=True)
class Refusal:
    """The text is understood and cannot be watched; the message says what can be done instead."""

    message: str
    code: str = "not_supported"
    rank: int = CERTAIN
    system: str = ""


@dataclass(frozen=True)
class Link:
    title: str
    url: str


@dataclass(frozen=True)
class Instead:
    """Another text that the user can check with one click."""

    title: str
    text: str


@dataclass(frozen=True)
class Pick:
    """One thing that can be ticked. `data` is JSON that `add` gets back; `requests` are those of one check."""

    value: str
    title: str
    detail: str = ""
    path: str = ""
    requests: int = 1
    is_ticked: bool = True
    exists: Link | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def per_day(self, minutes: int) -> int:
        """Return the requests per day at this frequency."""
        return round(self.requests * MINUTES_PER_DAY / minutes) if minutes else 0


@dataclass(frozen=True)
class Item:
    """One item of the preview, as it was read."""

    title: str
    detail: str = ""
    url: str = ""
    at: datetime | date | None = None


@dataclass(frozen=True)
class Offer:
    """What was found, and what the user can choose.

    `problem` says why the preview is missing or incomplete; `why_not` says why nothing can be added. `notify` lists
    the kinds of change that can be chosen; if it is empty, `notify_note` says where changes appear.
    """

    title: str
    facts: tuple[str, ...] = ()
    picks: tuple[Pick, ...] = ()
    items: tuple[Item, ...] = ()
    items_note: str = ""
    problem: str = ""
    why_not: str = ""
    code: str = ""
    exists: Link | None = None
    instead: tuple[Instead, ...] = ()
    frequencies: tuple[int, ...] = ()
    frequency: int = 0
    frequency_note: str = ""
    notify: tuple[str, ...] = ()
    notify_note: str = ""
    is_estimate: bool = False
    limit_per_day: int = 0
    limit_note: str = ""
    cost_note: str = ""
    first_note: str = ""
    requests_made: int = 0
    seconds: float = 0.0

    @property
    def can_add(self) -> bool:
        return not self.why_not and any(pick.exists is None for pick in self.picks)


@dataclass(frozen=True)
class Choice:
    """What the user chose. `picks` are values of Pick with their data."""

    picks: Mapping[str, Mapping[str, Any]]
    frequency: int = 0
    notify: tuple[str, ...] = ()
    channels: Sequence[NotificationChannel] = ()
    name: str = ""


@dataclass(frozen=True)
class Added:
    """A source that was added, and its page."""

    kind: str
    title: str
    url: str


class AddError(Exception):
    """Nothing was added. `code` is invalid, not_allowed, exists, not_found or too_many; `url` shows what exists."""

    def __init__(self, message: str, code: str = "invalid", *, url: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.url = url
