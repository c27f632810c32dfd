"""Options of the server process and of backups."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import NO_WORDS, InvalidSetting, Option, integer, switch, text, words

BIND = Option(
    "WATCHBOOK_BIND", text, default="127.0.0.1:8000",
    help="Address and port the web process listens on. Port 0: any free port.",
)  # fmt: skip
WEB_THREADS = Option(
    "WATCHBOOK_WEB_THREADS", integer, default=8, minimum=1, maximum=128,
    help="Number of web threads.",
)  # fmt: skip
WEB_PROCESSES = Option(
    "WATCHBOOK_WEB_PROCESSES", integer, default=2, minimum=1, maximum=64,
    help="Number of processes of `watchbook web --server granian`. Each has WATCHBOOK_WEB_THREADS threads.",
)  # fmt: skip
MAX_BODY_MB = Option(
    "WATCHBOOK_MAX_BODY_MB", integer, default=128, minimum=1, maximum=4096,
    help="Largest accepted request body, in MB.",
)  # fmt: skip
METRICS_TOKEN = Option(
    "WATCHBOOK_METRICS_TOKEN", text, default="", secret=True,
    help="Bearer token for /metrics and the details of /readyz. Operators and their API tokens can read them, too.",
)  # fmt: skip
DISK_PERCENT = Option(
    "WATCHBOOK_DISK_PERCENT", integer, default=95, minimum=50, maximum=100,
    help="Disk usage in percent above which the server reports not ready.",
)  # fmt: skip
UPGRADE_BACKUP = Option(
    "WATCHBOOK_UPGRADE_BACKUP", text, default="sqlite", choices=("sqlite", "always", "off"),
    help="Verified backup before migrations of a database with data: `sqlite` on SQLite only, `always`, or `off`."
    " If the backup fails, nothing is migrated.",
)  # fmt: skip
BACKUP_DAILY = Option(
    "WATCHBOOK_BACKUP_DAILY", switch, default=False,
    group="backups", title=_("Nightly backup"),
    help=_("on: create a backup every night."),
)  # fmt: skip
BACKUP_KEEP = Option(
    "WATCHBOOK_BACKUP_KEEP", integer, default=7, minimum=1, maximum=1000,
    group="backups", title=_("Nightly backups to keep"),
    help=_("Number of nightly backups to keep."),
)  # fmt: skip


def web_address(raw: str) -> str:
    """Return an address without a slash at its end."""
    address = raw.strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("expected an http or https address")
    return address


PUBLIC_URL = Option(
    "WATCHBOOK_PUBLIC_URL", web_address, default="http://127.0.0.1:8000",
    group="address", title=_("Public address"),
    help=_(
        "Public address of this server, used in links and e-mails. If it is not set, links have the port of"
        " WATCHBOOK_BIND."
    ),
)  # fmt: skip
ALLOWED_HOSTS = Option(
    "WATCHBOOK_ALLOWED_HOSTS", words, default=NO_WORDS,
    help="Further host names of this server, comma-separated.",
)  # fmt: skip


def _local_address() -> str:
    """Return the default address with the port on which the server listens, if that is known."""
    port = BIND.value.rpartition(":")[2]
    return f"http://127.0.0.1:{port}" if port.isdecimal() and 0 < int(port) <= 65535 else PUBLIC_URL.default


def address_settings() -> dict[str, Any]:
    """Return the settings of Django that follow from the public address."""
    address = PUBLIC_URL.value if PUBLIC_URL.is_set else _local_address()
    parts = urlsplit(address)
    if "*" in ALLOWED_HOSTS.value:
        raise InvalidSetting("WATCHBOOK_ALLOWED_HOSTS must name hosts; * is not one")
    return {
        "PUBLIC_URL": address,
        "ALLOWED_HOSTS": [parts.hostname, "127.0.0.1", "localhost", "[::1]", *ALLOWED_HOSTS.value],
        "CSRF_TRUSTED_ORIGINS": [f"{parts.scheme}://{parts.netloc}"],
    }
