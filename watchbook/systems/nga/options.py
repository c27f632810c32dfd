"""Options of the forum that an operator can set."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, origin, switch, text


def board_numbers(raw: str) -> tuple[int, ...]:
    """Parse `7,-7`: board numbers, separated by commas."""
    try:
        return tuple(dict.fromkeys(int(part) for part in raw.split(",") if part.strip()))
    except ValueError:
        raise ValueError("expected board numbers such as 7 or 7,-7") from None


BASE_URL = Option(
    "NGA_BASE_URL", origin, default="https://bbs.nga.cn", help="Address of the forum."
)  # fmt: skip
NO_BOARDS: tuple[int, ...] = ()
FORUMS = Option(
    "NGA_FORUMS", board_numbers, default=NO_BOARDS,
    help="Board numbers to crawl every 12 hours, separated by commas, for example 7. Empty: boards added on the page.",
)  # fmt: skip
USER_AGENT = Option(
    "NGA_USER_AGENT", text, default="",
    group="nga", title=_("User agent"),
    help=_("User agent for requests to the forum. Empty: WATCHBOOK_USER_AGENT."),
)  # fmt: skip
COOKIE = Option(
    "NGA_COOKIE", text, default="", secret=True,
    group="nga", title=_("Cookie"),
    help=_("Cookies of an account, as in a browser's Cookie header. Empty: crawl as a guest."),
)  # fmt: skip
FOLLOW_HOURS = Option(
    "NGA_FOLLOW_HOURS", integer, default=6, minimum=1, maximum=168,
    help="Hours between two checks of a followed topic. A check without new posts is 1 request.",
)  # fmt: skip
FOLLOW_QUIET_DAYS = Option(
    "NGA_FOLLOW_QUIET_DAYS", integer, default=7, minimum=1, maximum=365,
    help="A topic is followed until it has had no reply for this many days.",
)  # fmt: skip
REREAD_REQUESTS = Option(
    "NGA_REREAD_REQUESTS", integer, default=500, minimum=0, maximum=50_000,
    help="Requests per day (Shanghai time) for reading stored pages again to find edits. 0: never.",
)  # fmt: skip
AUDIT_REPAIR = Option(
    "NGA_AUDIT_REPAIR", switch, default=True,
    help="The daily audit also fetches missing posts, with up to 3 attempts each.",
)  # fmt: skip
EXPORT_TOPICS = Option(
    "NGA_EXPORT_TOPICS", integer, default=1000, minimum=1, maximum=100_000,
    help="Largest number of topics in a zip that a page or the API sends. The command has no limit.",
)  # fmt: skip
MEDIA = Option(
    "NGA_MEDIA", switch, default=True, group="nga", title=_("Keep files of posts"),
    help=_("Fetch pictures, audio, videos and attachments of posts and store them, within the limits of kept files."),
)  # fmt: skip
