"""The Django app of Operations."""

from __future__ import annotations

from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "watchbook.core.ops"
    label = "ops"

    def ready(self) -> None:
        from watchbook.core import checks  # noqa: F401  registers the checks; needs the app registry
