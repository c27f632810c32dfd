"""Addresses of the stream and of its feeds."""

from __future__ import annotations

from django.urls import path

from watchbook.core.stream import views

urlpatterns = [
    path("stream/", views.stream, name="stream"),
    path("stream/feeds/", views.own_feeds, name="stream_feeds"),
    path("stream/feeds/<int:pk>/revoke/", views.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/stream.atom", views.feed_atom, name="feed_atom"),
    path("feeds/<str:token>/stream.json", views.feed_json, name="feed_json"),
]
