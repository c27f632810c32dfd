"""Settings of the library."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from watchbook.base.env import Option, integer, switch, text

RELEASE_CHANNEL = Option(
    "RELEASE_CHANNEL", text, default="prod", choices=("prod", "staging"),
    help="Release channel of this deployment. It can change only workspaces of this channel; all others are read-only.",
)  # fmt: skip
PAGE_KILOBYTES = Option(
    "LIBRARY_PAGE_KILOBYTES", integer, default=2048, minimum=16, maximum=16384,
    help="Maximum size of the text of one page, in kilobytes.",
)  # fmt: skip
IMPORT_MEGABYTES = Option(
    "LIBRARY_IMPORT_MEGABYTES", integer, default=50, minimum=1, maximum=2048,
    help="Maximum size of an imported file, packed and unpacked, in megabytes.",
)  # fmt: skip
IMPORT_PAGES = Option(
    "LIBRARY_IMPORT_PAGES", integer, default=5000, minimum=1, maximum=100000,
    help="Maximum number of folders and pages of one import.",
)  # fmt: skip
ATTACHMENT_MEGABYTES = Option(
    "LIBRARY_ATTACHMENT_MEGABYTES", integer, default=25, minimum=1, maximum=1000,
    help="Maximum size of one attachment, in megabytes.",
)  # fmt: skip
QUOTA_MEGABYTES = Option(
    "LIBRARY_QUOTA_MEGABYTES", integer, default=5000, minimum=0, maximum=10000000,
    help="Maximum size of all attachments of one workspace, in megabytes. 0: no limit.",
)  # fmt: skip
CHROMIUM = Option(
    "LIBRARY_CHROMIUM", text, default="",
    help="Path of a Chromium or Chrome that prints PDF exports, without network. Empty: no PDF. It names a"
    " program to run and is therefore no field of the settings page.",
)  # fmt: skip
EXPORT_FOLDER = Option(
    "LIBRARY_EXPORT_FOLDER", text, default="",
    help="Folder into which every space is exported each night as Markdown files, without restricted pages and texts"
    " that are not approved. Empty: no nightly export.",
)  # fmt: skip
EXPORT_GIT = Option(
    "LIBRARY_EXPORT_GIT", switch, default=False,
    help="Commit the nightly export in LIBRARY_EXPORT_FOLDER, which must be a Git working copy. Nothing is pushed.",
)  # fmt: skip
TRASH_DAYS = Option(
    "LIBRARY_TRASH_DAYS", integer, default=30, minimum=0, maximum=3650,
    group="retention", title=_("Trash, days"),
    help=_("Days that pages, spaces and workspaces stay in the trash before they are deleted permanently. 0: forever."),
)  # fmt: skip
