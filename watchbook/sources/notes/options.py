"""What an operator may set about notes."""

from __future__ import annotations

from watchbook.base.env import NO_WORDS, Option, integer, number, switch, text, words

ADAPTER = Option(
    "NOTES_ADAPTER", text, default="", choices=("", "standin", "page", "remote"),
    help="How the platform is read. Empty: nothing is read. page and remote also need NOTES_TERMS_CONFIRMED.",
)  # fmt: skip
TERMS_CONFIRMED = Option(
    "NOTES_TERMS_CONFIRMED", switch, default=False,
    help="on: you have read the terms of what page or remote reads, and may read it.",
)  # fmt: skip
STANDIN_URL = Option(
    "NOTES_STANDIN_URL", text, default="", help="Address of the stand-in platform, for tests and the demo."
)  # fmt: skip
PAGE_URL = Option(
    "NOTES_PAGE_URL", text, default="https://www.xiaohongshu.com", help="Where the adapter page finds public notes."
)  # fmt: skip
PAGE_SPACING = Option(
    "NOTES_PAGE_SPACING_SECONDS", number, default=3.0, minimum=1, maximum=600,
    help="Shortest time between two public pages that the adapter page reads.",
)  # fmt: skip
REMOTE_URL = Option(
    "NOTES_REMOTE_URL", text, default="", help="Address of the crawler service that you run and may use."
)  # fmt: skip
REMOTE_TOKEN = Option(
    "NOTES_REMOTE_TOKEN", text, default="", secret=True, help="Bearer token for that service. Empty: none is sent."
)  # fmt: skip
COOKIE_MASTER_KEY = Option(
    "COOKIE_MASTER_KEY", text, default="", secret=True,
    help="Master key of the cookie pool, at least 32 characters. Without a key the pool is closed.",
)  # fmt: skip
COOKIE_MASTER_KEYS = Option(
    "COOKIE_MASTER_KEYS", words, default=NO_WORDS, secret=True,
    help="Several master keys as id:key, comma-separated; the first seals, all open.",
)  # fmt: skip
COOKIE_CIPHER = Option(
    "NOTES_COOKIE_CIPHER", text, default="v2", choices=("v2", "v1"),
    help="v2: AES-256-GCM bound to the row. v1: Fernet, which is AES-128.",
)  # fmt: skip
RUNNER = Option(
    "NOTES_RUNNER", switch, default=True, help="off: the built-in runner leaves candidates to n8n or another program."
)  # fmt: skip
AUTHORS = Option(
    "NOTES_AUTHORS", text, default="hashed", choices=("hashed", "plain"),
    help="hashed: authors are kept as a keyed hash and a masked name. plain: as the platform shows them.",
)  # fmt: skip
SEARCH_TIMEOUT = Option(
    "NOTES_SEARCH_TIMEOUT_SECONDS", number, default=30.0, minimum=0.5, maximum=60, help="Longest time for one search."
)  # fmt: skip
DETAIL_TIMEOUT = Option(
    "NOTES_DETAIL_TIMEOUT_SECONDS", number, default=15.0, minimum=0.5, maximum=30, help="Longest time for one note."
)  # fmt: skip
BATCH_TIMEOUT = Option(
    "NOTES_BATCH_TIMEOUT_SECONDS", number, default=60.0, minimum=1, maximum=120,
    help="Longest time for a batch of notes with everything in it.",
)  # fmt: skip
SEARCH_EVERY = Option(
    "NOTES_SEARCH_EVERY_MINUTES", integer, default=360, minimum=1, help="How often each keyword is searched."
)  # fmt: skip
SEARCH_PAGES = Option(
    "NOTES_SEARCH_PAGES", integer, default=1, minimum=1, maximum=20, help="How many pages of a search are read."
)  # fmt: skip
BREAKER_MINUTES = Option(
    "NOTES_BREAKER_MINUTES", integer, default=30, minimum=1, maximum=1440,
    help="How long nothing is asked after the platform blocked this address or refused the signature.",
)  # fmt: skip
KEEP_LEASES_DAYS = Option(
    "NOTES_KEEP_LEASES_DAYS", integer, default=30, minimum=2, help="How long the use of cookies is remembered."
)  # fmt: skip
