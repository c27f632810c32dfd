"""URLs of the Reddit pages. `links` has those that search, activity and alerts link to."""

from __future__ import annotations

from django.urls import path

from watchbook.systems.reddit.views import actions, comments, communities, community, metrics, posts, selected

app_name = "reddit"

urlpatterns = [
    path("", communities.communities, name="communities"),
    path("live/", actions.live, name="live"),
    path("crawl/", actions.crawl, name="crawl"),
    path("selected/", selected.selected, name="selected"),
    path("add/", actions.add, name="add"),
    path("pool/", actions.pool, name="pool"),
    path("pool/sample/", actions.sample, name="sample"),
    path("posts/", posts.posts, name="posts"),
    path("posts/<str:post_id>/", posts.post, name="post"),
    path("comments/", comments.comments, name="comments"),
    path("threads/<str:post_id>/", comments.thread, name="thread"),
    path("threads/<str:post_id>/looked/", comments.looked, name="looked"),
    path("crawls/", communities.crawls, name="crawls"),
    path("u/<str:author>/", posts.author, name="author"),
    path("u/<str:author>/erase/", actions.erase_author, name="erase_author"),
    path("metrics/", metrics.metrics, name="metrics"),
    path("r/<str:name>/", community.community, name="community"),
    path("r/<str:name>/visit/", actions.crawl_community, name="crawl_community"),
    path("r/<str:name>/switch/", actions.activate, name="activate"),
    path("r/<str:name>/wish/", actions.priority, name="priority"),
    path("r/<str:name>/tags/", actions.tags, name="tags"),
    path("r/<str:name>/comments/", actions.comments, name="switch_comments"),
    path("r/<str:name>/remove/", actions.remove, name="remove"),
]
