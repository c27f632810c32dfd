"""Options of the whole server."""

from __future__ import annotations

from pathlib import Path

from watchbook.base.env import NO_WORDS, Option, switch, text, words

HOME = Option(
    "WATCHBOOK_HOME", text, default=str(Path.home() / ".watchbook"),
    help="Data folder: database, keys, blobs, backups.",
)  # fmt: skip
DATABASE_URL = Option(
    "DATABASE_URL", text, default="", secret=True,
    help="postgres://, mysql:// or sqlite:/// address. Empty: watchbook.sqlite3 in the data folder.",
)  # fmt: skip
TRUSTED_PROXIES = Option(
    "WATCHBOOK_TRUSTED_PROXIES", words, default=NO_WORDS,
    help="Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted.",
)  # fmt: skip
SECRET_KEY = Option(
    "SECRET_KEY", text, default="", secret=True,
    help="Signs sessions and links. Empty: created at first start in the data folder.",
)  # fmt: skip
SECRETS_KEYS = Option(
    "WATCHBOOK_SECRETS_KEYS", words, default=NO_WORDS, secret=True,
    help="Encryption keys as id:key, newest first. Empty: created at first start in the data folder.",
)  # fmt: skip
DEBUG = Option(
    "WATCHBOOK_DEBUG", switch, default=False, help="Show developer error pages. Not allowed on public addresses."
)
LOG_LEVEL = Option(
    "WATCHBOOK_LOG_LEVEL", text, default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    help="Log level.",
)  # fmt: skip
LOG_FORMAT = Option(
    "WATCHBOOK_LOG_FORMAT", text, default="text", choices=("text", "json"),
    help="Log format.",
)  # fmt: skip
