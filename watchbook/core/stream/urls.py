"""Addresses of the inbox and of its feeds."""

from __future__ import annotations

from django.urls import path

from watchbook.core.stream import inbox_views, views

urlpatterns = [
    path("stream/", inbox_views.stream, name="stream"),
    path("stream/<int:pk>/", inbox_views.open_entry, name="stream_entry"),
    path("stream/new/", inbox_views.new_entries, name="stream_new"),
    path("stream/mark/", inbox_views.mark, name="stream_mark"),
    path("stream/read-all/", inbox_views.read_all, name="stream_read_all"),
    path("stream/feeds/", views.own_feeds, name="stream_feeds"),
    path("stream/feeds/<int:pk>/revoke/", views.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/stream.atom", views.feed_atom, name="feed_atom"),
    path("feeds/<str:token>/stream.json", views.feed_json, name="feed_json"),
]
