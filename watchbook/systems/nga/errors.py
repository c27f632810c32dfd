"""Errors of crawling the forum, and what follows from each.

NgaError (a WebError)        nothing may be concluded from it: what is stored stays, no cursor moves
├── SiteError                the forum as a whole: end the run, keep what it has stored; later calls cost nothing
│   ├── GuestCheckFailed               guests are not let in; the operator sets NGA_COOKIE or waits
│   ├── Outage                 nothing was answered usefully for a long time; the next run tries again
│   └── Paused                 the forum asked for a pause longer than a run waits; the job comes back later
└── PageError                this page alone: note it at the topic, continue with the next topic
    ├── TopicGone              the site says that the topic is gone or hidden (alone never a deletion)
    ├── Denied                 no right, login wanted, too old, locked, awaiting review: not a deletion
    ├── PastEnd                there is no such page; the topic is shorter than its list row said
    ├── PageBusy               busy, throttled, forbidden, ill or out of reach, also after some patience: next run
    └── PageUnreadable         no form of the page can be read; the reader has to learn it, or the next run is luckier

`code` is a stable word (a reason of `parse/reasons.py` where the site gave one), `message` a sentence, `detail` the
site's own words for the log. `category` and `http_error_code` are what the audit tables want.
"""

from __future__ import annotations

from watchbook.base.web.errors import WebError
from watchbook.systems.nga.parse.errors import SENTENCES, gettext_noop


class NgaError(WebError):
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


class SiteError(NgaError):
    is_temporary = True


class GuestCheckFailed(SiteError):
    code = "gate_shut"
    message = gettext_noop("The site does not allow guests. An operator enters an account's cookie under Settings.")


class Outage(SiteError):
    code = "outage"
    message = gettext_noop("The site has not returned a usable response for some time.")


class Paused(SiteError):
    code = "paused"
    message = gettext_noop("The site asked Watchbook to slow down.")


class PageError(NgaError):
    """Made with a reason of the reader or of the site; the reason is the code and brings its sentence."""

    def __init__(self, reason: str = "", detail: str = "", *, category: str = "", **about: object) -> None:
        self.category = category or self.category
        about.setdefault("code", reason or None)
        about.setdefault("message", SENTENCES.get(reason))
        super().__init__(detail, **about)  # type: ignore[arg-type]


class TopicGone(PageError):
    code = "gone"
    message = SENTENCES["gone"]


class Denied(PageError):
    code = "no_right"
    message = SENTENCES["no_right"]


class PastEnd(PageError):
    code = "past_end"
    message = SENTENCES["past_end"]


class PageBusy(PageError):
    code = "busy"
    message = SENTENCES["busy"]
    is_temporary = True


class PageUnreadable(PageError):
    code = "broken"
    message = SENTENCES["broken"]
    category = "parse"
    is_temporary = True
