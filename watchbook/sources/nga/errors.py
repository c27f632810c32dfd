"""What can stop a reading of the forum, who is told, and what follows.

NgaTrouble (a WebError)        nothing may be concluded from it: what is stored stays, no cursor moves
├── SiteTrouble                the forum as a whole: end the run, keep what it has stored; later calls cost nothing
│   ├── GateShut               guests are not let in; the operator sets NGA_COOKIE or waits
│   ├── Outage                 nothing was answered usefully for a long time; the next run tries again
│   └── Paused                 the forum asked for a pause longer than a run waits; the job comes back later
└── PageTrouble                this page alone: note it at the topic, go on with the next topic
    ├── TopicGone              the site says that the topic is gone or hidden (never a deletion by itself)
    ├── Denied                 no right, login wanted, too old, locked, awaiting review: not a deletion
    ├── PastEnd                there is no such page; the topic is shorter than its list row said
    ├── PageBusy               busy, throttled, forbidden, ill or out of reach, also after some patience: next run
    └── PageUnreadable         no form of the page can be read; the reader has to learn it, or the next run is luckier

`code` is a stable word (a reason of `parse/reasons.py` where the site gave one), `message` a sentence, `detail` the
site's own words for the log. `category` and `http_error_code` are what the audit tables want.
"""

from __future__ import annotations

from watchbook.base.web.errors import WebError
from watchbook.sources.nga.parse.reasons import SENTENCES, gettext_noop


class NgaTrouble(WebError):
    code = "nga_trouble"
    message = gettext_noop("The forum could not be read.")
    category = "http"
    """http, or parse when an answer came and could not be understood."""

    @property
    def http_error_code(self) -> int | None:
        """The status of the answer when it was a failure; None for refusals that came with 200."""
        return self.status if self.status is not None and self.status >= 400 else None

    @property
    def summary(self) -> str:
        """One line for a column of 200 characters."""
        words = f"{self.code}: {self.detail or self.message}"
        return " ".join(words.split())[:200]


class SiteTrouble(NgaTrouble):
    is_temporary = True


class GateShut(SiteTrouble):
    code = "gate_shut"
    message = gettext_noop("The forum does not let guests in. A cookie of an account may help.")


class Outage(SiteTrouble):
    code = "outage"
    message = gettext_noop("The forum has not answered usefully for a while.")


class Paused(SiteTrouble):
    code = "paused"
    message = gettext_noop("The forum asks for a pause.")


class PageTrouble(NgaTrouble):
    """Made with a reason of the reader or of the site; the reason is the code and brings its sentence."""

    def __init__(self, reason: str = "", detail: str = "", *, category: str = "", **about: object) -> None:
        self.category = category or self.category
        about.setdefault("code", reason or None)
        about.setdefault("message", SENTENCES.get(reason))
        super().__init__(detail, **about)  # type: ignore[arg-type]


class TopicGone(PageTrouble):
    code = "gone"
    message = SENTENCES["gone"]


class Denied(PageTrouble):
    code = "no_right"
    message = SENTENCES["no_right"]


class PastEnd(PageTrouble):
    code = "past_end"
    message = SENTENCES["past_end"]


class PageBusy(PageTrouble):
    code = "busy"
    message = SENTENCES["busy"]
    is_temporary = True


class PageUnreadable(PageTrouble):
    code = "broken"
    message = SENTENCES["broken"]
    category = "parse"
    is_temporary = True
