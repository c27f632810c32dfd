"""Addresses of channels, deliveries and the unsubscribe page."""

from __future__ import annotations

from django.urls import path

from watchbook.core.notify import devices, views

urlpatterns = [
    path("channels/", views.channels, name="channels"),
    path("channels/add/", views.choose_channel, name="channel_choose"),
    path("channels/add/<slug:kind>/", views.add_channel, name="channel_add"),
    path("channels/rules/<str:thread>/", views.rule, name="notification_rule"),
    path("channels/push/key/", devices.key, name="push_key"),
    path("sw.js", devices.worker, name="push_worker"),
    path("manifest.webmanifest", devices.manifest, name="app_manifest"),
    path("channels/<uuid:pk>/", views.channel, name="channel"),
    path("channels/<uuid:pk>/edit/", views.edit_channel, name="channel_edit"),
    path("channels/<uuid:pk>/delete/", views.delete_channel, name="channel_delete"),
    path("channels/<uuid:pk>/test/", views.test_channel, name="channel_test"),
    path("channels/<uuid:pk>/arrived/", views.confirm_test, name="channel_arrived"),
    path("channels/<uuid:pk>/secret/", views.rotate_secret, name="channel_secret"),
    path("deliveries/", views.delivery_log, name="delivery_log"),
    path("deliveries/replay/", views.replay_many, name="deliveries_replay"),
    path("deliveries/<int:pk>/", views.delivery, name="delivery"),
    path("deliveries/<int:pk>/replay/", views.replay, name="delivery_replay"),
    path("unsubscribe/<str:token>/", views.unsubscribe_page, name="unsubscribe"),
]
