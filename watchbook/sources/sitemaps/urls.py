"""Addresses of the sitemaps pages."""

from __future__ import annotations

from django.urls import path

from watchbook.sources.sitemaps import views

app_name = "sitemaps"

urlpatterns = [
    path("", views.monitors, name="monitors"),
    path("<uuid:monitor_id>/", views.monitor, name="monitor"),
    path("changes/<uuid:change_id>/", views.change, name="change"),
]
