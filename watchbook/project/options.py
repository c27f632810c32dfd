"""What an operator may set about the installation as a whole."""

from __future__ import annotations

from pathlib import Path

from watchbook.base.env import NO_WORDS, Option, integer, switch, text, words

HOME = Option(
    "WATCHBOOK_HOME", text, default=str(Path.home() / ".watchbook"),
    help="Data folder: database, keys, blobs, backups.",
)  # fmt: skip
DATABASE_URL = Option(
    "DATABASE_URL", text, default="", secret=True,
    help="postgres://, mysql:// or sqlite:/// address. Empty: watchbook.sqlite3 in the data folder.",
)  # fmt: skip
PUBLIC_URL = Option(
    "WATCHBOOK_PUBLIC_URL", text, default="http://127.0.0.1:8000",
    help="Address under which people reach this installation; links in mails are built from it.",
)  # fmt: skip
ALLOWED_HOSTS = Option(
    "WATCHBOOK_ALLOWED_HOSTS", words, default=NO_WORDS,
    help="Further host names that are answered, comma-separated.",
)  # fmt: skip
TRUSTED_PROXIES = Option(
    "WATCHBOOK_TRUSTED_PROXIES", words, default=NO_WORDS,
    help="Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
)  # fmt: skip
SECRET_KEY = Option(
    "SECRET_KEY", text, default="", secret=True,
    help="Signs sessions and links. Empty: made at first start in the data folder.",
)  # fmt: skip
SECRETS_KEYS = Option(
    "WATCHBOOK_SECRETS_KEYS", words, default=NO_WORDS, secret=True,
    help="Keys for secrets at rest as id:key, newest first. Empty: made at first start in the data folder.",
)  # fmt: skip
DEBUG = Option("WATCHBOOK_DEBUG", switch, default=False, help="Developer error pages. Refused on public addresses.")
LOG_LEVEL = Option(
    "WATCHBOOK_LOG_LEVEL", text, default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    help="How much is logged.",
)  # fmt: skip
LOG_FORMAT = Option(
    "WATCHBOOK_LOG_FORMAT", text, default="text", choices=("text", "json"),
    help="Log lines for people or for machines.",
)  # fmt: skip
EMAIL_HOST = Option("EMAIL_HOST", text, default="", help="Mail server. Empty: mails are written to the log.")
EMAIL_PORT = Option("EMAIL_PORT", integer, default=25, minimum=1, maximum=65535, help="Port of the mail server.")
EMAIL_HOST_USER = Option("EMAIL_HOST_USER", text, default="", help="Login at the mail server.")
EMAIL_HOST_PASSWORD = Option(
    "EMAIL_HOST_PASSWORD", text, default="", secret=True, help="Password at the mail server."
)  # fmt: skip
EMAIL_USE_TLS = Option("EMAIL_USE_TLS", switch, default=False, help="STARTTLS; without it nothing is sent.")
EMAIL_USE_SSL = Option("EMAIL_USE_SSL", switch, default=False, help="TLS from the first byte.")
DEFAULT_FROM_EMAIL = Option(
    "DEFAULT_FROM_EMAIL", text, default="Watchbook <watchbook@localhost>", help="Sender of mails."
)  # fmt: skip
