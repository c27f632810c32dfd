"""Environment variables of the notes system."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import NO_WORDS, Option, integer, number, switch, text, words

ADAPTER = Option(
    "NOTES_ADAPTER", text, default="", choices=("", "standin", "page", "remote"),
    group="notes", title=_("Adapter"),
    help=_("Adapter for the platform. Empty: no requests. page and remote also need *Terms confirmed*."),
)  # fmt: skip
TERMS_CONFIRMED = Option(
    "NOTES_TERMS_CONFIRMED", switch, default=False,
    group="notes", title=_("Terms confirmed"),
    help=_("on: you have read the platform's terms and are allowed to read it with page or remote."),
)  # fmt: skip
STANDIN_URL = Option(
    "NOTES_STANDIN_URL", text, default="", help="Address of the stand-in platform, for tests and the demo."
)  # fmt: skip
PAGE_URL = Option(
    "NOTES_PAGE_URL", text, default="https://www.xiaohongshu.com",
    help="Base URL of the public note pages that the page adapter reads.",
)  # fmt: skip
PAGE_SPACING = Option(
    "NOTES_PAGE_SPACING_SECONDS", number, default=3.0, minimum=1, maximum=600,
    help="Shortest time between two requests of the page adapter.",
)  # fmt: skip
REMOTE_URL = Option(
    "NOTES_REMOTE_URL", text, default="",
    group="notes", title=_("Crawler service"),
    help=_("URL of the crawler service for the remote adapter. You run it and are allowed to use it."),
)  # fmt: skip
REMOTE_TOKEN = Option(
    "NOTES_REMOTE_TOKEN", text, default="", secret=True,
    group="notes", title=_("Token"),
    help=_("Bearer token for the crawler service. Empty: no token is sent."),
)  # fmt: skip
COOKIE_MASTER_KEY = Option(
    "COOKIE_MASTER_KEY", text, default="", secret=True,
    help="Master key of the cookie pool, at least 32 characters. Without a key the pool is unavailable.",
)  # fmt: skip
COOKIE_MASTER_KEYS = Option(
    "COOKIE_MASTER_KEYS", words, default=NO_WORDS, secret=True,
    help="Several master keys as id:key, comma-separated. The first encrypts, all decrypt.",
)  # fmt: skip
HASH_KEY = Option(
    "NOTES_HASH_KEY", text, default="", secret=True,
    help="Key for the hashes of authors. Empty: the server makes one and keeps it, encrypted, in the database.",
)  # fmt: skip
COOKIE_CIPHER = Option(
    "NOTES_COOKIE_CIPHER", text, default="v2", choices=("v2", "v1"),
    help="v2: AES-256-GCM bound to the row. v1: Fernet, which is AES-128.",
)  # fmt: skip
RUNNER = Option(
    "NOTES_RUNNER", switch, default=True, group="notes", title=_("Built-in runner"),
    help=_("off: n8n or another program collects candidates, not the built-in runner."),
)  # fmt: skip
AUTHORS = Option(
    "NOTES_AUTHORS", text, default="hashed", choices=("hashed", "plain"),
    help="hashed: store authors as a keyed hash and a masked name. plain: store them as shown by the platform.",
)  # fmt: skip
MEDIA = Option(
    "NOTES_MEDIA", switch, default=True,
    group="notes", title=_("Keep pictures and videos"),
    help=_(
        "on: keep pictures, live photos and videos of collected notes. off: store only their addresses,"
        " which expire."
    ),
)  # fmt: skip


def read_days(raw: str) -> tuple[int, ...]:
    """Days, comma-separated, in rising order."""
    try:
        days = tuple(int(word) for word in words(raw) if word != "off")
    except ValueError:
        raise ValueError("expected days such as 1,7,30, or off") from None
    if any(day < 1 or day > 3650 for day in days) or list(days) != sorted(set(days)):
        raise ValueError("expected rising days from 1 to 3650")
    return days


READ_AGAIN_DAYS: Option[tuple[int, ...]] = Option(
    "NOTES_READ_AGAIN_DAYS", read_days, default=(1, 7, 30),
    help="Days after which a collected note is read again, comma-separated. off: only when a user asks.",
)  # fmt: skip
SEARCH_TIMEOUT = Option(
    "NOTES_SEARCH_TIMEOUT_SECONDS", number, default=30.0, minimum=0.5, maximum=60, help="Time limit for one search."
)  # fmt: skip
DETAIL_TIMEOUT = Option(
    "NOTES_DETAIL_TIMEOUT_SECONDS", number, default=15.0, minimum=0.5, maximum=30, help="Time limit for one note."
)  # fmt: skip
BATCH_TIMEOUT = Option(
    "NOTES_BATCH_TIMEOUT_SECONDS", number, default=60.0, minimum=1, maximum=120,
    help="Time limit for a whole batch of notes.",
)  # fmt: skip
SEARCH_EVERY = Option(
    "NOTES_SEARCH_EVERY_MINUTES", integer, default=360, minimum=1, group="notes", title=_("Minutes between searches"),
    help=_("Interval between two searches of a keyword.")
)  # fmt: skip
SEARCH_PAGES = Option(
    "NOTES_SEARCH_PAGES", integer, default=1, minimum=1, maximum=20, help="Result pages read per search."
)  # fmt: skip
CREATOR_EVERY = Option(
    "NOTES_CREATOR_EVERY_MINUTES", integer, default=360, minimum=5, group="notes",
    title=_("Minutes between checks of a creator"), help=_("Interval between two checks of a followed creator."),
)  # fmt: skip
CREATOR_PAGES = Option(
    "NOTES_CREATOR_PAGES", integer, default=5, minimum=1, maximum=50,
    help="Pages of a creator's notes read per check at most. A check ends at the last known note.",
)  # fmt: skip
COMMENTS = Option(
    "NOTES_COMMENTS", integer, default=100, minimum=0, maximum=1000,
    group="notes", title=_("Comments per note"),
    help=_("Comments kept per collected note, if the adapter can read them. 0: none are read."),
)  # fmt: skip
BREAKER_MINUTES = Option(
    "NOTES_BREAKER_MINUTES", integer, default=30, minimum=1, maximum=1440,
    help="How long requests stop after the platform blocked this IP address or rejected the signature.",
)  # fmt: skip
KEEP_LEASES_DAYS = Option(
    "NOTES_KEEP_LEASES_DAYS", integer, default=30, minimum=2, help="Days to keep cookie usage records."
)  # fmt: skip
