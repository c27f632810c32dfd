"""Badges of states (one table for every page) and the card of a system. Tone and shape only repeat the word.

Shared vocabularies are in VOCABULARY; a system declares its own in `Source.badges`, and the desk adds them with
`add_provider`, because this package knows no system. The same English word may need two Chinese ones, so each
vocabulary is its own context. `find(vocabulary, state)` shows an unknown state under its own name instead of failing.

A form field as HTML: label above, control, note, error, tied together for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from django.forms import BoundField, widgets
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import ngettext_lazy
from django.utils.translation import pgettext_lazy as _p

if TYPE_CHECKING:
    from watchbook.kit.charts import Value  # all of the charts, which most processes never draw

CARD_DAYS, TREND_DAYS = 30, 14


@dataclass(frozen=True)
class Badge:
    """`tone` is ok, warn, bad, info or empty (off); `shape` is the name of an icon."""

    text: str | Promise
    tone: str = ""
    shape: str = ""


def ok(text: str | Promise, shape: str = "s-ok") -> Badge:
    return Badge(text, "ok", shape)


def warn(text: str | Promise, shape: str = "s-warn") -> Badge:
    return Badge(text, "warn", shape)


def bad(text: str | Promise, shape: str = "s-bad") -> Badge:
    return Badge(text, "bad", shape)


def info(text: str | Promise, shape: str = "s-info") -> Badge:
    return Badge(text, "info", shape)


def off(text: str | Promise, shape: str = "s-off") -> Badge:
    return Badge(text, "", shape)


Vocabulary = Mapping[str, Badge]
_PROVIDERS: list[Callable[[], Mapping[str, Vocabulary]]] = []
_LEVELS = {"P0": bad("P0"), "P1": bad("P1"), "P2": warn("P2")}

VOCABULARY: dict[str, Vocabulary] = {
    "health": {
        "healthy": ok(_p("health", "Healthy")),
        "running": info(_p("health", "Running"), "s-work"),
        "never": off(_p("health", "Not run yet"), "s-wait"),
        "paused": warn(_p("health", "Paused"), "s-hold"),
        "failed": bad(_p("health", "Failed")),
        "incomplete": warn(_p("health", "Incomplete")),
        "unconfirmed": warn(_p("health", "Unconfirmed"), "s-hold"),
        "failing": warn(_p("health", "Failing")),
        "error": bad(_p("health", "Error")),
        "late": warn(_p("health", "Late"), "s-wait"),
        "blocked": bad(_p("health", "Blocked")),
        **_LEVELS,
    },
    "schedule": {
        "active": ok(_p("schedule", "Active")),
        "paused": warn(_p("schedule", "Paused"), "s-hold"),
    },
    "text": {"edited": info(_p("text", "Edited"), "edit")},
    "delivery": {
        "pending": off(_p("delivery", "Pending"), "s-wait"),
        "sent": ok(_p("delivery", "Sent")),
        "failed": bad(_p("delivery", "Failed")),
        "skipped": off(_p("delivery", "Skipped")),
    },
    "job": {
        "pending": off(_p("job", "Queued"), "s-wait"),
        "queued": off(_p("job", "Queued"), "s-wait"),
        "waiting": warn(_p("job", "Waiting"), "s-hold"),
        "running": info(_p("job", "Running"), "s-work"),
        "done": ok(_p("job", "Done")),
        "nothing_to_do": ok(_p("job", "Nothing to do")),
        "slow": warn(_p("job", "Slow")),
        "partly": warn(_p("job", "Partial")),
        "recovered": warn(_p("job", "Restarted")),
        "failed": bad(_p("job", "Failed")),
        "rolled_back": off(_p("job", "Rolled back"), "history"),
        "cancelled": off(_p("job", "Cancelled")),
    },
    "alert": {**_LEVELS, "closed": off(_p("alert", "Resolved"))},
}


def add_provider(provider: Callable[[], Mapping[str, Vocabulary]]) -> None:
    """Look up vocabularies that are not in VOCABULARY in what this function returns, too."""
    if provider not in _PROVIDERS:
        _PROVIDERS.append(provider)


def vocabularies() -> dict[str, Vocabulary]:
    """Return every known vocabulary by name: the shared ones and those of the providers."""
    found: dict[str, Vocabulary] = dict(VOCABULARY)
    for provider in _PROVIDERS:
        found.update(provider())
    return found


def find(vocabulary: str, state: str) -> Badge:
    """Return the badge of a state. Model values may be upper case or have dashes."""
    words = VOCABULARY.get(vocabulary) or vocabularies()[vocabulary]
    key = str(state)
    found = words.get(key) or words.get(key.lower().replace("-", "_").replace(" ", "_"))
    return found or Badge(key)


def gaps(count: int) -> Badge:
    return warn(ngettext_lazy("%d gap", "%d gaps", count) % count)


def edited(times: int) -> Badge:
    """How often the source changed the text after we first saw it."""
    if times < 2:
        return VOCABULARY["text"]["edited"]
    return info(ngettext_lazy("Edited %d time", "Edited %d times", times) % times, "edit")


@dataclass(frozen=True)
class Fact:
    """One line under the number: a name and a text (or safe HTML, such as a time)."""

    name: str
    value: str | SafeString


class CardHealth(Protocol):
    """What a card shows of `core.health.Health`."""

    @property
    def last_success_at(self) -> datetime | None: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class Card:
    """The card of a system on the home page: `number` of `unit` since yesterday.

    `days` is the same count for each measured day of the last CARD_DAYS; the chart of the home page adds them up.
    `health` is the one record of the source; the card names its reason, and the first steps ask it for a success.

    A system without data leaves `number` at None and says in `hint` what to do, with `action_title` and `action_url`.
    """

    title: str
    url: str
    number: int | None = None
    unit: str = ""
    days: Mapping[date, int] = field(default_factory=dict)
    badge: Badge | None = None
    health: CardHealth | None = None
    facts: Sequence[Fact] = field(default=())
    hint: str = ""
    action_title: str = ""
    action_url: str = ""

    @property
    def trend(self) -> list[Value]:
        """The last TREND_DAYS days, oldest first, None where nothing was measured. Future days are omitted."""
        if not self.days:
            return []
        last = max(self.days)
        first = max(min(self.days), last - timedelta(days=TREND_DAYS - 1))
        return [self.days.get(first + timedelta(days=number)) for number in range((last - first).days + 1)]


def draw_field(bound: BoundField, *, note: str, label: str, css: str, error_icon: SafeString) -> SafeString:
    widget = bound.field.widget
    if bound.is_hidden:
        return bound.as_hidden()
    note_text = str(note or bound.help_text)
    errors = [str(text) for text in bound.errors]
    error_id, note_id = f"{bound.auto_id}_error", f"{bound.auto_id}_note"
    described = " ".join(([error_id] if errors else []) + ([note_id] if note_text else []))
    control = bound.as_widget(attrs=_attributes(widget, described, invalid=bool(errors), css=css))
    below = _below(errors, error_id, error_icon) + _note(note_text, note_id)
    words = label or bound.label
    if isinstance(widget, widgets.CheckboxInput):
        return format_html('<div class="field"><label class="check">{} {}</label>{}</div>', control, words, below)
    if isinstance(widget, (widgets.RadioSelect, widgets.CheckboxSelectMultiple)):
        return format_html('<fieldset class="field"><legend>{}</legend>{}{}</fieldset>', words, control, below)
    return format_html(
        '<div class="field"><label for="{}">{}</label>{}{}</div>', bound.id_for_label, words, control, below
    )


def _attributes(widget: widgets.Widget, described: str, *, invalid: bool, css: str) -> dict[str, Any]:
    found: dict[str, Any] = {"class": " ".join(filter(None, [_class_of(widget), widget.attrs.get("class", ""), css]))}
    if not found["class"]:
        del found["class"]
    if invalid:
        found["aria-invalid"] = "true"
    if described:
        found["aria-describedby"] = described
    return found


def _class_of(widget: widgets.Widget) -> str:
    if isinstance(widget, (widgets.CheckboxInput, widgets.RadioSelect, widgets.CheckboxSelectMultiple)):
        return ""
    if isinstance(widget, widgets.Textarea):
        return "textarea"
    return "select" if isinstance(widget, widgets.Select) else "input"


def _below(errors: list[str], error_id: str, error_icon: SafeString) -> SafeString:
    if not errors:
        return SafeString("")
    lines = format_html_join(
        "", '<p class="field-error">{}<span>{}</span></p>', ((error_icon, text) for text in errors)
    )
    return format_html('<div id="{}">{}</div>', error_id, lines)


def _note(text: str, note_id: str) -> SafeString:
    return format_html('<p class="field-note" id="{}">{}</p>', note_id, text) if text else SafeString("")
