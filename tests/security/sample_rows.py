"""Rows of every system, so that walks over addresses, API responses and pages read real data and not only 404."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from watchbook.core import registry
from watchbook.core.alerts.conditions import open_alert

Ids = dict[str, list[str]]


def furnish(person: Any) -> Ids:
    """Ask every system for its rows. Ids stand by the name of a path's part; where two systems have the same name for
    something, the system stands before it."""
    open_alert("desk", level="P2", source="sitemaps", title="A lamp is out", message="It burned down.", link="/")
    found: Ids = {}
    for source in registry.sources():
        found |= rows_of(source.package, person)
    return found


def rows_of(package: str, person: Any) -> Ids:
    """Call `furnish(owner)` of the system's tests/furnish.py."""
    name = f"{package}.tests.furnish"
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith(str(error.name)):
            raise
        path = f"{name.replace('.', '/')}.py"
        pytest.fail(f"{path} is missing: a function furnish(owner) that writes rows and returns ids.", pytrace=False)
    made: Ids = module.furnish(person)
    return made
