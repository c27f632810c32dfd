"""The words for states. One table for every page: tone and shape only repeat what the word says.

The same English word may be two Chinese ones, so each vocabulary is its own context.
`find(vocabulary, state)` gives the badge; an unknown state shows its own name, plain, instead of failing a page.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy
from django.utils.translation import pgettext_lazy as _p


@dataclass(frozen=True)
class Badge:
    """`tone` is ok, warn, bad, info or empty (off); `shape` is the name of an icon."""

    text: str | Promise
    tone: str = ""
    shape: str = ""


def _ok(text: str | Promise, shape: str = "s-ok") -> Badge:
    return Badge(text, "ok", shape)


def _warn(text: str | Promise, shape: str = "s-warn") -> Badge:
    return Badge(text, "warn", shape)


def _bad(text: str | Promise, shape: str = "s-bad") -> Badge:
    return Badge(text, "bad", shape)


def _info(text: str | Promise, shape: str = "s-info") -> Badge:
    return Badge(text, "info", shape)


def _off(text: str | Promise, shape: str = "s-off") -> Badge:
    return Badge(text, "", shape)


_LEVELS = {"P0": _bad("P0"), "P1": _bad("P1"), "P2": _warn("P2")}

VOCABULARY: dict[str, dict[str, Badge]] = {
    "health": {
        "healthy": _ok(_p("health", "Healthy")),
        "running": _info(_p("health", "Running"), "s-work"),
        "never": _off(_p("health", "Not run yet"), "s-wait"),
        "paused": _warn(_p("health", "Paused"), "s-hold"),
        "failed": _bad(_p("health", "Failed")),
        **_LEVELS,
    },
    "floor": {
        "edited": _info(_p("floor", "Edited"), "edit"),
        "deleted": _bad(_p("floor", "Deleted by source"), "trash"),
        "folded": _off(_p("floor", "Folded"), "minus"),
        "missing": _warn(_p("floor", "Never seen")),
        "backfilling": _info(_p("floor", "Backfilling"), "s-work"),
        "skipped": _off(_p("floor", "Skipped, over 1,000 pages")),
        "pinned": _info(_p("floor", "Pinned"), "pin"),
        "digest": _info(_p("floor", "Digest"), "star"),
    },
    "audit": {
        "missing": _warn(_p("audit", "Missing")),
        "repaired": _ok(_p("audit", "Repaired")),
        "still_missing": _warn(_p("audit", "Still missing")),
        "ignored": _off(_p("audit", "Ignored")),
        "failed": _bad(_p("audit", "Failed")),
    },
    "monitor": {
        "active": _ok(_p("monitor", "Active")),
        "paused": _warn(_p("monitor", "Paused"), "s-hold"),
        "error": _bad(_p("monitor", "Error")),
        "degraded": _warn(_p("monitor", "Degraded")),
        "suspect": _warn(_p("monitor", "Suspect"), "s-hold"),
        "baseline": _off(_p("monitor", "Baseline")),
        "no_change": _off(_p("monitor", "No change")),
    },
    "delivery": {
        "pending": _off(_p("delivery", "Pending"), "s-wait"),
        "sent": _ok(_p("delivery", "Sent")),
        "failed": _bad(_p("delivery", "Failed")),
        "skipped": _off(_p("delivery", "Skipped")),
    },
    "community": {
        "on_time": _ok(_p("community", "On time")),
        "overdue": _warn(_p("community", "Overdue")),
        "possible_gap": _warn(_p("community", "Possible gap")),
        "quiet": _off(_p("community", "Quiet")),
        "inactive": _bad(_p("community", "Inactive")),
        "removed": _bad(_p("community", "Removed"), "trash"),
    },
    "candidate": {
        "pending": _off(_p("candidate", "Pending"), "s-wait"),
        "processing": _info(_p("candidate", "Processing"), "s-work"),
        "collected": _ok(_p("candidate", "Collected")),
        "failed": _bad(_p("candidate", "Failed")),
    },
    "cookie": {
        "active": _ok(_p("cookie", "Active")),
        "cooling": _warn(_p("cookie", "Cooling"), "s-hold"),
        "invalid": _off(_p("cookie", "Invalid")),
        "banned": _bad(_p("cookie", "Banned")),
    },
    "job": {
        "pending": _off(_p("job", "Pending"), "s-wait"),
        "queued": _off(_p("job", "Pending"), "s-wait"),
        "waiting": _warn(_p("job", "Waiting"), "s-hold"),
        "running": _info(_p("job", "Running"), "s-work"),
        "done": _ok(_p("job", "Done")),
        "nothing_to_do": _ok(_p("job", "Nothing to do")),
        "slow": _warn(_p("job", "Slow")),
        "partly": _warn(_p("job", "Partly")),
        "recovered": _warn(_p("job", "Recovered")),
        "failed": _bad(_p("job", "Failed")),
        "rolled_back": _off(_p("job", "Rolled back"), "history"),
        "cancelled": _off(_p("job", "Cancelled")),
    },
    "editor": {
        "saved": _ok(_p("editor", "Saved")),
        "unsaved": _warn(_p("editor", "Not saved yet"), "s-hold"),
    },
    "alert": {**_LEVELS, "closed": _off(_p("alert", "Closed"))},
}


def find(vocabulary: str, state: str) -> Badge:
    """The badge of a state. Model values may be upper case or have dashes."""
    words = VOCABULARY[vocabulary]
    key = str(state)
    found = words.get(key) or words.get(key.lower().replace("-", "_").replace(" ", "_"))
    return found or Badge(key)


def gaps(count: int) -> Badge:
    return _warn(ngettext_lazy("%d gap", "%d gaps", count) % count)


def edited(times: int) -> Badge:
    """How often the source changed the text after we first saw it."""
    if times < 2:
        return VOCABULARY["floor"]["edited"]
    return _info(ngettext_lazy("Edited %d time", "Edited %d times", times) % times, "edit")
