"""The card of one system on the home page. A system makes it in the function that its Source names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.safestring import SafeString

from watchbook.core.ui.badges import Badge
from watchbook.core.ui.charts.record import Value


@dataclass(frozen=True)
class Fact:
    """One line under the number: a name and a text (or safe HTML, such as a time)."""

    name: str
    value: str | SafeString


@dataclass(frozen=True)
class Card:
    """`number` of `unit` since yesterday; `trend` are the last 14 days, oldest first, None where nothing was measured.

    A system without data leaves `number` at None and says in `hint` what to do, with `action_title` and `action_url`.
    """

    title: str
    url: str
    number: int | None = None
    unit: str = ""
    trend: Sequence[Value] = field(default=())
    badge: Badge | None = None
    facts: Sequence[Fact] = field(default=())
    hint: str = ""
    action_title: str = ""
    action_url: str = ""
