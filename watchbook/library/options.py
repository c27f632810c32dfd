"""What an operator may set about the library."""

from __future__ import annotations

from watchbook.base.env import Option, integer, text
from watchbook.library.channels import CHANNELS, PROD

RELEASE_CHANNEL = Option(
    "RELEASE_CHANNEL", text, default=PROD, choices=CHANNELS,
    help="Which workspaces this deployment may write: those of its own channel. All others are read only here.",
)  # fmt: skip
PAGE_KILOBYTES = Option(
    "LIBRARY_PAGE_KILOBYTES", integer, default=2048, minimum=16, maximum=16384,
    help="Longest text of one page.",
)  # fmt: skip
IMPORT_MEGABYTES = Option(
    "LIBRARY_IMPORT_MEGABYTES", integer, default=50, minimum=1, maximum=2048,
    help="Largest file that can be imported, and the most it may hold when it is unpacked.",
)  # fmt: skip
IMPORT_PAGES = Option(
    "LIBRARY_IMPORT_PAGES", integer, default=5000, minimum=1, maximum=100000,
    help="Most folders and files of one import.",
)  # fmt: skip
TRASH_DAYS = Option(
    "LIBRARY_TRASH_DAYS", integer, default=30, minimum=0, maximum=3650,
    help="How many days pages, spaces and workspaces stay in the trash before they are removed for good. 0: for ever.",
)  # fmt: skip
