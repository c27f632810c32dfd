"""Addresses of the shared pages."""

from __future__ import annotations

from django.urls import path

from watchbook.core.ui import views

urlpatterns = [
    path("", views.home, name="home"),
    path("keys/", views.keys, name="keys"),
    path("welcome/done/", views.finish_onboarding, name="finish_onboarding"),
    path("language/", views.set_language, name="set_language"),
    path("theme/", views.set_theme, name="set_theme"),
]
