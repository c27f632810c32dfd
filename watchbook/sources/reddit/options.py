"""What an operator may set about Reddit. Names as in the system's own document; ours follow at the end."""

from __future__ import annotations

from watchbook import __version__
from watchbook.base.env import Option, integer, number, switch, text

BATCH_SIZE = Option(
    "CRAWLER_BATCH_SIZE", integer, default=12, minimum=1, maximum=200,
    help="How many communities a crawl takes at a time.",
)  # fmt: skip
MAX_CONCURRENCY = Option(
    "CRAWLER_MAX_CONCURRENCY", integer, default=2, minimum=1, maximum=16,
    help="How many communities a crawl reads at once.",
)  # fmt: skip
POST_LIMIT = Option(
    "CRAWLER_POST_LIMIT", integer, default=100, minimum=1, maximum=1000,
    help="Posts of a community that the batch crawl puts into the cache.",
)  # fmt: skip
TIME_FILTER = Option(
    "CRAWLER_TIME_FILTER", text, default="month", choices=("hour", "day", "week", "month", "year", "all"),
    help="Time range of the batch crawl's listing.",
)  # fmt: skip
SORT = Option(
    "CRAWLER_SORT", text, default="top", choices=("top", "new", "hot", "rising"),
    help="Order of the batch crawl's listing.",
)  # fmt: skip
HOT_TTL_HOURS = Option(
    "HOT_CACHE_TTL_HOURS", number, default=24.0, minimum=0.01, help="How long posts stay in the hot cache."
)  # fmt: skip

CLIENT_ID = Option(
    "REDDIT_CLIENT_ID", text, default="",
    help="Id of your application at Reddit. Without id and secret nothing is fetched.",
)  # fmt: skip
CLIENT_SECRET = Option(
    "REDDIT_CLIENT_SECRET", text, default="", secret=True, help="Secret of your application at Reddit."
)  # fmt: skip
USER_AGENT = Option(
    "REDDIT_USER_AGENT", text, default=f"python:watchbook:v{__version__} (by /u/unnamed-operator)",
    help="How requests name themselves. Reddit wants platform:app:version (by /u/name).",
)  # fmt: skip
RATE_LIMIT = Option(
    "REDDIT_RATE_LIMIT", integer, default=60, minimum=1, maximum=100_000,
    help="Most requests in any window, by all processes together.",
)  # fmt: skip
RATE_WINDOW = Option(
    "REDDIT_RATE_LIMIT_WINDOW_SECONDS", number, default=60.0, minimum=0.1, maximum=3600,
    help="Length of that window.",
)  # fmt: skip
REQUEST_TIMEOUT = Option(
    "REDDIT_REQUEST_TIMEOUT_SECONDS", number, default=30.0, minimum=1, maximum=300,
    help="Longest time for one request.",
)  # fmt: skip
API_CONCURRENCY = Option(
    "REDDIT_MAX_CONCURRENCY", integer, default=10, minimum=1, maximum=100,
    help="Most requests in flight at once, by all processes together.",
)  # fmt: skip

API_THRESHOLD = Option(
    "MONITOR_API_THRESHOLD", integer, default=55, minimum=1, help="Calls per minute above which an alert opens."
)  # fmt: skip
CACHE_HIT_THRESHOLD = Option(
    "MONITOR_CACHE_HIT_THRESHOLD", number, default=0.70, minimum=0, maximum=1,
    help="Share of reads from cache and hot store below which an alert opens.",
)  # fmt: skip
STALE_MINUTES = Option(
    "MONITOR_CRAWL_STALE_MINUTES", number, default=90.0, minimum=1,
    help="Minutes without any successful visit after which an alert opens.",
)  # fmt: skip

OAUTH_URL = Option(
    "REDDIT_OAUTH_URL", text, default="https://oauth.reddit.com", help="Base address of the API."
)  # fmt: skip
TOKEN_URL = Option(
    "REDDIT_TOKEN_URL", text, default="https://www.reddit.com/api/v1/access_token",
    help="Full address that gives out tokens.",
)  # fmt: skip
SCHEDULER = Option(
    "REDDIT_SCHEDULER", text, default="adaptive", choices=("adaptive", "tiers"),
    help="tiers: every 2, 6 or 24 hours. adaptive: at the latest then, sooner where it finds more.",
)  # fmt: skip
DAILY_BUDGET = Option(
    "REDDIT_DAILY_REQUEST_BUDGET", integer, default=8640, minimum=1,
    help="Requests a day that the adaptive schedule plans with, everything included. A tenth of the allowance.",
)  # fmt: skip
HONOR_DELETIONS = Option(
    "REDDIT_HONOR_DELETIONS", switch, default=True,
    help="on: text, title and author of what was deleted or removed at Reddit are blanked here daily.",
)  # fmt: skip
BATCH_CRAWL = Option(
    "REDDIT_BATCH_CRAWL", switch, default=False,
    help="on: the batch crawl, which fills the cache only, runs on its schedule too.",
)  # fmt: skip


def is_live() -> bool:
    """May Reddit be asked at all? Only with credentials."""
    return bool(CLIENT_ID.value and CLIENT_SECRET.value)
