"""What an operator can set about reading pages."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, switch, text

DAILY_REQUESTS = Option(
    "PAGES_DAILY_REQUESTS", integer, default=1000, minimum=1, maximum=1_000_000,
    help="Requests per day that a new website may use for its pages.",
)  # fmt: skip
MOST_REQUESTS = Option(
    "PAGES_MAX_DAILY_REQUESTS", integer, default=8640, minimum=1, maximum=1_000_000,
    group="limits", title=_("Page requests per website and day"),
    help=_("The largest request budget that a user can choose for a website."),
)  # fmt: skip
MOST_URLS = Option(
    "PAGES_MAX_URLS", integer, default=1_000_000, minimum=1, maximum=10_000_000,
    help="Pages per website. Further URLs are counted and not read.",
)  # fmt: skip
PAGE_MEGABYTES = Option(
    "PAGES_PAGE_MEGABYTES", integer, default=5, minimum=1, maximum=100,
    help="Size limit of a page. Larger pages are not read.",
)  # fmt: skip
KEEP_VERSIONS_DAYS = Option(
    "PAGES_KEEP_VERSIONS_DAYS", integer, default=730, minimum=1, group="retention", title=_("Page versions, days"),
    help=_("Days to keep earlier versions of pages. The newest ten versions of each page stay.")
)  # fmt: skip
SITES_PER_USER = Option(
    "PAGES_SITES_PER_USER", integer, default=200, minimum=1, group="limits", title=_("Websites per user"),
    help=_("Limit of websites per user whose pages are read.")
)  # fmt: skip
CLIP_PICTURES = Option(
    "PAGES_CLIP_PICTURES", switch, default=True, group="retention", title=_("Keep pictures of saved web pages"),
    help=_("on: keep pictures of web pages that users save to the library. off: store only their addresses."),
)  # fmt: skip
KEEP_CLIPS_DAYS = Option(
    "PAGES_KEEP_CLIPS_DAYS", integer, default=90, minimum=1,
    group="retention", title=_("Readings of saved pages, days"),
    help=_("Days to keep the last reading of a web page that was saved to the library. The saved page stays."),
)  # fmt: skip
EVIDENCE_MEGABYTES = Option(
    "PAGES_EVIDENCE_MEGABYTES", integer, default=500, minimum=1, maximum=1_000_000,
    group="limits", title=_("Evidence per website, MB"),
    help=_(
        "Size of kept requests and responses per website, in megabytes. At the limit versions are kept without them."
    ),
)  # fmt: skip
EVIDENCE_DAYS = Option(
    "PAGES_EVIDENCE_DAYS", integer, default=365, minimum=1, group="retention", title=_("Evidence of pages, days"),
    help=_("Days to keep the requests and responses of websites for which a user enabled this."),
)  # fmt: skip
CHROMIUM = Option(
    "SITES_CHROMIUM", text, default="",
    help="Path of a Chromium or Chrome that takes screenshots of pages. Empty: no screenshots.",
)  # fmt: skip
SCREENSHOT_MEGABYTES = Option(
    "SITES_SCREENSHOT_MEGABYTES", integer, default=500, minimum=1, maximum=1_000_000,
    group="limits", title=_("Screenshots per website, MB"),
    help=_("Size of the screenshots per website, in megabytes. At the limit no more are taken."),
)  # fmt: skip
SCREENSHOT_DAYS = Option(
    "SITES_SCREENSHOT_DAYS", integer, default=365, minimum=1, group="retention", title=_("Screenshots, days"),
    help=_("Days to keep screenshots of pages."),
)  # fmt: skip
