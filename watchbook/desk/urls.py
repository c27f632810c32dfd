"""Addresses of the shared pages."""

from __future__ import annotations

from django.urls import path

from watchbook.desk import layout, views

urlpatterns = [
    path("", views.home, name="home"),
    path("sources.css", layout.serve_colours, name="sources_css"),
    path("keys/", views.keys, name="keys"),
    path("welcome/done/", views.finish_onboarding, name="finish_onboarding"),
    path("language/", views.set_language, name="set_language"),
    path("theme/", views.set_theme, name="set_theme"),
]
