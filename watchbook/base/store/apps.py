"""The Django app of stored data. It keeps the SQLite file private, also in a folder that others can read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def restrict_permissions(connection: Any, **_more: Any) -> None:
    """After a connection: SQLite makes the file as open as the system allows, and its companions as open as the file.

    Only below the data folder; who may read a file elsewhere is the operator's decision.
    """
    if connection.vendor != "sqlite":
        return
    file = Path(str(connection.settings_dict["NAME"]))
    if not file.is_relative_to(settings.HOME):
        return
    for path in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        try:
            if path.stat().st_mode & OTHERS:
                path.chmod(0o600)
        except OSError:  # not there, or owned by another user: `doctor` checks the folder
            continue


class StoreConfig(AppConfig):
    name = "watchbook.base.store"
    label = "store"

    def ready(self) -> None:
        connection_created.connect(restrict_permissions)
