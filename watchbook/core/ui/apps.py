"""The app of the shared pages."""

from __future__ import annotations

from django.apps import AppConfig


class UiConfig(AppConfig):
    name = "watchbook.core.ui"
    label = "ui"
