"""Addresses of the Reddit pages. `places` has those that search, stream and alerts lead to."""

from __future__ import annotations

from django.urls import path

from watchbook.sources.reddit.views import communities, community, doing, metrics, pool, post, posts

app_name = "reddit"

urlpatterns = [
    path("", communities.communities, name="communities"),
    path("live/", doing.live, name="live"),
    path("crawl/", doing.crawl, name="crawl"),
    path("pool/", pool.pool, name="pool"),
    path("pool/sample/", pool.sample, name="sample"),
    path("posts/", posts.posts, name="posts"),
    path("posts/<str:post_id>/", post.post, name="post"),
    path("metrics/", metrics.metrics, name="metrics"),
    path("r/<str:name>/", community.community, name="community"),
    path("r/<str:name>/visit/", doing.visit, name="visit"),
    path("r/<str:name>/switch/", doing.switch, name="switch"),
    path("r/<str:name>/wish/", doing.wish, name="wish"),
]
