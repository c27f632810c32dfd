"""Optional packages. The embedded default (SQLite, one process) needs none; a setting that needs one names it.

require("psycopg", "postgres", "DATABASE_URL names PostgreSQL")
"""

from __future__ import annotations

from importlib.util import find_spec

from watchbook.base.env import InvalidSetting


def is_installed(module: str) -> bool:
    return find_spec(module) is not None


def how_to_install(extra: str) -> str:
    return f"pip install 'watchbook[{extra}]'"


def require(module: str, extra: str, reason: str) -> None:
    """Raise InvalidSetting with the command that installs what is missing."""
    if not is_installed(module):
        raise InvalidSetting(f"{reason}. Install the extra: {how_to_install(extra)}.")
