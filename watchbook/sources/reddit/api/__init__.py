"""Communities, posts and metrics for programs, under /api/v1/reddit."""

from watchbook.sources.reddit.api.routes import router

__all__ = ["router"]
