"""The app of the shared pages."""

from __future__ import annotations

from django.apps import AppConfig

from watchbook.core import registry
from watchbook.kit import badges


class DeskConfig(AppConfig):
    name = "watchbook.desk"
    label = "desk"

    def ready(self) -> None:
        badges.add_provider(registry.badges)
