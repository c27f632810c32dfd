"""Addresses of the forum pages. Rows of search and stream name `nga:topic` (tid) and `nga:floor` (tid, floor)."""

from __future__ import annotations

from django.urls import path

from watchbook.systems.nga.views import forums, notify, runs, topic, topics, versions

app_name = "nga"

urlpatterns = [
    path("", topics.topics, name="topics"),
    path("search/", topics.search, name="search"),
    path("live/", runs.live, name="live"),
    path("topics/<int:tid>/", topic.topic, name="topic"),
    path("topics/<int:tid>/floors/<int:floor_number>/", topic.floor, name="floor"),
    path("topics/<int:tid>/floors/<int:floor_number>/versions/", versions.versions, name="versions"),
    path("topics/<int:tid>/posts/<int:pid>/", topic.post, name="post"),
    path("topics/<int:tid>/export/<slug:form>/", topics.topic, name="export_topic"),
    path("topics/selected/", forums.selected_topics, name="selected_topics"),
    path("topics/archive/", forums.archive_topic, name="archive_topic"),
    path("authors/archive/", forums.archive_author, name="archive_author"),
    path("topics/<int:tid>/read/", forums.read_topic, name="read_topic"),
    path("topics/<int:tid>/follow/", forums.follow_topic, name="follow_topic"),
    path("topics/<int:tid>/notify/", notify.topic, name="notify_topic"),
    path("topics/<int:tid>/authors/<int:uid>/notify/", notify.author, name="notify_author"),
    path("topics/<int:tid>/authors/<int:uid>/follow/", forums.follow_author, name="follow_author"),
    path("topics/<int:tid>/feed/", forums.topic_feed, name="topic_feed"),
    path("pictures/<slug:digest>/", topic.picture, name="picture"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<int:pk>/", runs.run, name="run"),
    path("crawl/", forums.crawl, name="crawl"),
    path("audits/", runs.audits, name="audits"),
    path("audits/now/", forums.audit_now, name="audit_now"),
    path("audits/repair/", forums.repair_now, name="repair_now"),
    path("audits/<int:pk>/", runs.audit, name="audit"),
    path("forums/", forums.forums, name="forums"),
    path("forums/add/", forums.add_forum, name="add_forum"),
    path("forums/suggested/", forums.add_suggested, name="add_suggested"),
    path("forums/<int:pk>/edit/", forums.edit_forum, name="edit_forum"),
    # A number of a board may be negative.
    path("forums/<str:fid>/feed/", forums.forum_feed, name="forum_feed"),
    path("feeds/<int:pk>/revoke/", forums.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/<str:kind>/<str:number>.atom", forums.feed, name="feed"),
]
