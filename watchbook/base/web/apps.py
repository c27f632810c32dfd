"""The Django app that carries the table of shared pace."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "watchbook.base.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"
