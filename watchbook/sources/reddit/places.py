"""Where pages of this system are: search documents, stream entries and alerts link to them."""

from __future__ import annotations

HOME = "/reddit/"
METRICS = "/reddit/metrics/"
POOL = "/reddit/pool/"


def post_path(post_id: str) -> str:
    return f"/reddit/posts/{post_id}/"


def community_path(name: str) -> str:
    """`r/webdev` lives at /reddit/r/webdev/."""
    return f"/reddit/{name}/"


def reddit_link(post_id: str) -> str:
    return f"https://www.reddit.com/comments/{post_id}/"
