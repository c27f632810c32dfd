"""Options of the Reddit system. The names up to MONITOR_* come from its seed; the others follow."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook import __version__
from watchbook.base.env import Option, integer, number, switch, text

BATCH_SIZE = Option(
    "CRAWLER_BATCH_SIZE", integer, default=12, minimum=1, maximum=200,
    help="Communities per batch of a crawl.",
)  # fmt: skip
MAX_CONCURRENCY = Option(
    "CRAWLER_MAX_CONCURRENCY", integer, default=2, minimum=1, maximum=16,
    help="Communities that a crawl reads in parallel.",
)  # fmt: skip
POST_LIMIT = Option(
    "CRAWLER_POST_LIMIT", integer, default=100, minimum=1, maximum=1000,
    help="Posts per community that the batch crawl stores in the cache.",
)  # fmt: skip
TIME_FILTER = Option(
    "CRAWLER_TIME_FILTER", text, default="month", choices=("hour", "day", "week", "month", "year", "all"),
    help="Time range of the listing that the batch crawl reads.",
)  # fmt: skip
SORT = Option(
    "CRAWLER_SORT", text, default="top", choices=("top", "new", "hot", "rising"),
    help="Sort order of the listing that the batch crawl reads.",
)  # fmt: skip
HOT_TTL_HOURS = Option(
    "HOT_CACHE_TTL_HOURS", number, default=24.0, minimum=0.01, help="Hours that posts stay in the hot cache."
)  # fmt: skip

CLIENT_ID = Option(
    "REDDIT_CLIENT_ID", text, default="",
    group="reddit", title=_("Client ID"),
    help=_("ID of your Reddit app. Without ID and secret, Reddit is not crawled."),
)  # fmt: skip
CLIENT_SECRET = Option(
    "REDDIT_CLIENT_SECRET", text, default="", secret=True, group="reddit", title=_("Client secret"),
    help=_("Secret of your Reddit app.")
)  # fmt: skip
USER_AGENT = Option(
    "REDDIT_USER_AGENT", text, default=f"python:watchbook:v{__version__} (by /u/unnamed-operator)",
    group="reddit", title=_("User agent"),
    help=_("User-Agent of requests. Reddit expects platform:app:version (by /u/name)."),
)  # fmt: skip
RATE_LIMIT = Option(
    "REDDIT_RATE_LIMIT", integer, default=60, minimum=1, maximum=100_000,
    group="reddit", title=_("Requests per window"),
    help=_("Maximum number of requests per window, shared by all processes."),
)  # fmt: skip
RATE_WINDOW = Option(
    "REDDIT_RATE_LIMIT_WINDOW_SECONDS", number, default=60.0, minimum=0.1, maximum=3600,
    help="Length of the rate limit window in seconds.",
)  # fmt: skip
REQUEST_TIMEOUT = Option(
    "REDDIT_REQUEST_TIMEOUT_SECONDS", number, default=30.0, minimum=1, maximum=300,
    help="Timeout of one request in seconds.",
)  # fmt: skip
API_CONCURRENCY = Option(
    "REDDIT_MAX_CONCURRENCY", integer, default=10, minimum=1, maximum=100,
    help="Maximum number of parallel requests, shared by all processes.",
)  # fmt: skip

API_THRESHOLD = Option(
    "MONITOR_API_THRESHOLD", integer, default=55, minimum=1,
    help="An alert opens above this number of requests per minute.",
)  # fmt: skip
CACHE_HIT_THRESHOLD = Option(
    "MONITOR_CACHE_HIT_THRESHOLD", number, default=0.70, minimum=0, maximum=1,
    help="An alert opens below this share of reads answered by the cache.",
)  # fmt: skip
STALE_MINUTES = Option(
    "MONITOR_CRAWL_STALE_MINUTES", number, default=90.0, minimum=1,
    help="An alert opens after this many minutes without a successful crawl.",
)  # fmt: skip

OAUTH_URL = Option(
    "REDDIT_OAUTH_URL", text, default="https://oauth.reddit.com", help="Base URL of the Reddit API."
)  # fmt: skip
TOKEN_URL = Option(
    "REDDIT_TOKEN_URL", text, default="https://www.reddit.com/api/v1/access_token",
    help="URL of the token endpoint.",
)  # fmt: skip
SCHEDULER = Option(
    "REDDIT_SCHEDULER", text, default="adaptive", choices=("adaptive", "tiers"),
    help="tiers: crawl every 2, 6 or 24 hours. adaptive: crawl more often where there are more new posts.",
)  # fmt: skip
DAILY_BUDGET = Option(
    "REDDIT_DAILY_REQUEST_BUDGET", integer, default=8640, minimum=1,
    group="reddit", title=_("Requests per day"),
    help=_("Requests per day that the adaptive schedule may use. The default is a tenth of Reddit's limit."),
)  # fmt: skip
COMMENTS = Option(
    "REDDIT_COMMENTS", switch, default=False, group="reddit", title=_("Comments of all communities"),
    help=_("on: crawl the comments of every community that has no setting of its own."),
)  # fmt: skip
MEDIA = Option(
    "REDDIT_MEDIA", switch, default=True, group="reddit", title=_("Keep pictures of posts"),
    help=_("on: keep pictures, galleries and stills of videos, except those of posts marked NSFW. off: only links."),
)  # fmt: skip
HONOR_DELETIONS = Option(
    "REDDIT_HONOR_DELETIONS", switch, default=True, group="reddit", title=_("Erase what was deleted on Reddit"),
    help=_(
        "on: every day, Watchbook erases text, title and author of posts and comments that were deleted or removed on"
        " Reddit."
    ),
)  # fmt: skip
KEEP_CRAWLS_DAYS = Option(
    "REDDIT_KEEP_CRAWLS_DAYS", integer, default=90, minimum=1, group="retention", title=_("Reddit crawls, days"),
    help=_("Days to keep the row of each crawl of a community with its outcome."),
)  # fmt: skip
BATCH_CRAWL = Option(
    "REDDIT_BATCH_CRAWL", switch, default=False,
    help="on: run the batch crawl, which refreshes only the cache.",
)  # fmt: skip


def is_live() -> bool:
    """Return True if the credentials are set, so that requests may be sent."""
    return bool(CLIENT_ID.value and CLIENT_SECRET.value)
