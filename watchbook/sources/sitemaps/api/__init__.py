"""Monitors, changes and snapshots for programs, under /api/v1/sitemaps."""

from watchbook.sources.sitemaps.api.routes import router

__all__ = ["router"]
