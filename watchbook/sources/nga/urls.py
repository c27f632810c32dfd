"""Addresses of the forum pages. Rows of search and stream name `nga:topic` (tid) and `nga:floor` (tid, floor)."""

from __future__ import annotations

from django.urls import path

from watchbook.sources.nga.views import audits, doing, feed, forums, picture, runs, topic, topics, versions

app_name = "nga"

urlpatterns = [
    path("", topics.topics, name="topics"),
    path("search/", topics.search, name="search"),
    path("live/", runs.live, name="live"),
    path("topics/<int:tid>/", topic.topic, name="topic"),
    path("topics/<int:tid>/floors/<int:floor_number>/", topic.floor, name="floor"),
    path("topics/<int:tid>/floors/<int:floor_number>/versions/", versions.versions, name="versions"),
    path("topics/<int:tid>/posts/<int:pid>/", topic.post, name="post"),
    path("topics/<int:tid>/read/", doing.read_topic, name="read_topic"),
    path("topics/<int:tid>/feed/", feed.topic_feed, name="topic_feed"),
    path("pictures/<slug:digest>/", picture.picture, name="picture"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<int:pk>/", runs.run, name="run"),
    path("crawl/", doing.crawl, name="crawl"),
    path("audits/", audits.audits, name="audits"),
    path("audits/now/", doing.audit_now, name="audit_now"),
    path("audits/repair/", doing.repair_now, name="repair_now"),
    path("audits/<int:pk>/", audits.audit, name="audit"),
    path("forums/", forums.forums, name="forums"),
    path("forums/add/", forums.add_forum, name="add_forum"),
    path("forums/<int:pk>/edit/", forums.edit_forum, name="edit_forum"),
    # A number of a board may be negative.
    path("forums/<str:fid>/feed/", feed.forum_feed, name="forum_feed"),
    path("feeds/<int:pk>/revoke/", feed.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/<str:kind>/<str:number>.atom", feed.feed, name="feed"),
]
