"""Asking Reddit: one token and one limit for all processes, answers sorted into what they mean."""

from watchbook.sources.reddit.fetch.client import fetch_by_id, fetch_listing
from watchbook.sources.reddit.fetch.errors import NotConfigured, RedditTrouble, Refusal, Stop

__all__ = ["NotConfigured", "RedditTrouble", "Refusal", "Stop", "fetch_by_id", "fetch_listing"]
