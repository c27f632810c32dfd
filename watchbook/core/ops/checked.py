"""Every setting of every room read once, before anything is started or changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from watchbook.base import env
from watchbook.base.env import WrongSetting
from watchbook.core import registry
from watchbook.core.ops.address import Bind, bind

# Read by the settings module itself, before options exist.
OTHERS = {"WATCHBOOK_ENV_FILE"}


def check_settings() -> Bind:
    """Raises WrongSetting with one clear line for the first bad one. Gives the address to listen on."""
    load_options()
    env.check_all()
    return bind()


def check_stray() -> None:
    """A name that looks like ours but is none is most likely misspelt."""
    known = {*env.declared(), *OTHERS}
    stray = sorted(name for name in os.environ if name.startswith("WATCHBOOK_") and name not in known)
    if stray:
        raise WrongSetting(f"{stray[0]} is set, but there is no such setting.")


def load_options() -> None:
    """Options are declared when their module is imported."""
    for name in _option_modules():
        import_module(name)


def _option_modules() -> Iterator[str]:
    base = [f"watchbook.base.{room}" for room in ("web", "sandbox")]
    rooms = [f"watchbook.core.{room}" for room in ("accounts", "api", "jobs", "notify", "search", "stream", "ops")]
    for package in (*base, *rooms, *registry.packages()):
        if find_spec(f"{package}.options"):
            yield f"{package}.options"
