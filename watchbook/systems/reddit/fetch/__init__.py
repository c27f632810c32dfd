"""Requests to the Reddit API, with one token and one rate limit for all processes."""

from watchbook.systems.reddit.fetch.client import fetch_by_id, fetch_listing
from watchbook.systems.reddit.fetch.errors import ClientRefused, NotConfigured, RedditError, Refused

__all__ = ["ClientRefused", "NotConfigured", "RedditError", "Refused", "fetch_by_id", "fetch_listing"]
