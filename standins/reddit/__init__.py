"""A Reddit on loopback: communities, posts that are edited, removed and restored, listings with their ceiling, OAuth.

with RedditSite() as site:
    site.world.add_community("webdev")
    post = site.world.post("webdev", "A title", "A text")
    site.world.edit(post, "Another text")
"""

from standins.reddit.life import Life, Nature
from standins.reddit.site import RedditSite
from standins.reddit.world import Community, Post, World

__all__ = ["Community", "Life", "Nature", "Post", "RedditSite", "World"]
