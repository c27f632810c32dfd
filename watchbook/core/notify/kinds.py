"""The words for what a notice tells of: the house's own kinds here, those of a system in its `stream_kinds`."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

from watchbook.core.stream import kinds

HOUSE = {
    ("alerts", "alert"): gettext_noop("Alert"),
    ("notify", "channel_trouble"): gettext_noop("Channel in trouble"),
    ("notify", "digest"): gettext_noop("Digest of notices"),
    ("notify", "test"): gettext_noop("Test"),
    ("search", "saved_search"): gettext_noop("New match of a saved search"),
}


def title_of(source: str, kind: str) -> str:
    """In the reader's language; a kind that nobody declares any more stands for itself."""
    if (source, kind) in HOUSE:
        return gettext(HOUSE[source, kind])
    told = kinds.title_of(source, kind)
    return told if told != kind else f"{source}.{kind}"
