"""The archive for programs, under /api/v1/nga. Everybody with a token reads it; operators start work."""

from watchbook.sources.nga.api import archive, boards, work  # they hang their endpoints on the router
from watchbook.sources.nga.api.router import router

__all__ = ["archive", "boards", "router", "work"]
