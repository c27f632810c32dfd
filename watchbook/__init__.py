"""Watchbook: a self-hosted desk for people who watch the web."""

__version__ = "0.1.0"
