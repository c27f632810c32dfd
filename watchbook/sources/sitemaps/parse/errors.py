"""What can stop the reading of a sitemap for good.

Unreadable          the part counts as failed and keeps its earlier content
├── NotASitemap     the answer is something else: give another address
├── Dangerous       it is built to hurt a reader: the site has to change it
└── Damaged         it broke off before anything could be read: fetch it again
"""

from __future__ import annotations


class Unreadable(Exception):
    """Nothing can be read. `code` is stable and meant for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotASitemap(Unreadable):
    pass


class Dangerous(Unreadable):
    pass


class Damaged(Unreadable):
    pass
