"""A Reddit on loopback: communities, posts and comments that are edited, removed and restored, listings, OAuth.

with RedditSite() as site:
    site.world.add_community("webdev")
    post = site.world.post("webdev", "A title", "A text")
    site.world.edit(post, "Another text")
    site.world.comment(post, "A reply")
"""

from standins.reddit.life import Life, Nature
from standins.reddit.site import RedditSite
from standins.reddit.world import Comment, Community, Post, World

__all__ = ["Comment", "Community", "Life", "Nature", "Post", "RedditSite", "World"]
