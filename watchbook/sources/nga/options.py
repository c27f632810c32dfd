"""What an operator may set about the forum."""

from __future__ import annotations

from urllib.parse import urlsplit

from watchbook.base.env import Option, integer, switch, text


def origin(raw: str) -> str:
    """An address of a site, without a slash at its end."""
    address = raw.strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ValueError("expected an address such as https://bbs.nga.cn")
    return address


BASE_URL = Option(
    "NGA_BASE_URL", origin, default="https://bbs.nga.cn", help="Address of the forum."
)  # fmt: skip
USER_AGENT = Option(
    "NGA_USER_AGENT", text, default="",
    help="How the forum is told who asks. Empty: as everywhere, see WATCHBOOK_USER_AGENT.",
)  # fmt: skip
COOKIE = Option(
    "NGA_COOKIE", text, default="", secret=True,
    help="Cookies of an account, as in a browser's Cookie line. Empty: the forum is read as a guest.",
)  # fmt: skip
AUDIT_REPAIR = Option(
    "NGA_AUDIT_REPAIR", switch, default=True,
    help="The daily audit also fetches pages that hold missing floors, each floor at most three times.",
)  # fmt: skip
MEDIA = Option(
    "NGA_MEDIA", switch, default=False, help="Pictures of posts are fetched and kept in the data folder."
)  # fmt: skip
MEDIA_MEGABYTES = Option(
    "NGA_MEDIA_MEGABYTES", integer, default=20, minimum=1, maximum=500, help="Largest picture that is kept."
)  # fmt: skip
