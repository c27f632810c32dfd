"""DATABASE_URL to Django's settings, with the options each database was measured with."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from watchbook.base.env import InvalidSetting, require

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;PRAGMA mmap_size=268435456;"
    "PRAGMA cache_size=-64000;PRAGMA temp_store=MEMORY;PRAGMA journal_size_limit=67108864;"
    # Deleted rows are overwritten with zeros, so that erased text is gone from the file, too.
    "PRAGMA secure_delete=ON;"
)


def database(url: str, home: Path) -> dict[str, Any]:
    if not url:
        return _sqlite(home / "watchbook.sqlite3")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # The parser's own words quote the address, and with it the password.
        raise InvalidSetting(
            "DATABASE_URL cannot be read. Signs such as / # [ @ in a password are written %2F %23 %5B %40."
        ) from None
    scheme = parts.scheme.split("+")[0]
    if scheme == "sqlite":
        # sqlite:///relative.db and sqlite:////absolute.db
        return _sqlite(Path(unquote(parts.path[1:])))
    engines = {"postgres": _postgres, "postgresql": _postgres, "mysql": _mariadb, "mariadb": _mariadb}
    if scheme not in engines:
        raise InvalidSetting("DATABASE_URL must begin with postgres://, mysql:// or sqlite:///")
    query = dict(parse_qsl(parts.query))
    shared = {
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", unquote(parts.hostname or "")),
        "PORT": str(port or ""),
    }
    if not shared["NAME"]:
        raise InvalidSetting("DATABASE_URL names no database")
    return {**shared, **engines[scheme](query)}


def _sqlite(path: Path) -> dict[str, Any]:
    # IMMEDIATE: four processes doing read-modify-write had 90 "locked" failures with DEFERRED and none with it.
    options = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": SQLITE_PRAGMAS}
    # Tests use a file too: threads and child processes must see the same database.
    test = {"NAME": str(path.with_suffix(".test.sqlite3"))}
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": options, "TEST": test}


def _postgres(query: dict[str, str]) -> dict[str, Any]:
    require("psycopg", "postgres", "DATABASE_URL names PostgreSQL")
    size = query.pop("pool", "20")
    if not (size.isascii() and size.isdigit() and 0 < int(size) < 10_000):
        raise InvalidSetting("DATABASE_URL: pool is the number of connections, such as pool=20")
    pool = {"min_size": 1, "max_size": int(size), "timeout": 10}
    # A worker stopped inside a transaction must not hold its locks for ever.
    options = {"pool": pool, "options": "-c idle_in_transaction_session_timeout=60000", **query}
    return {"ENGINE": "django.db.backends.postgresql", "OPTIONS": options}


def _mariadb(query: dict[str, str]) -> dict[str, Any]:
    require("pymysql", "mysql", "DATABASE_URL names MariaDB")
    import pymysql  # only where MariaDB is used

    pymysql.install_as_MySQLdb()
    # Django checks for a mysqlclient version; PyMySQL implements the same interface.
    pymysql.version_info = (2, 2, 4, "final", 0)
    options = {
        "charset": "utf8mb4",
        "isolation_level": "read committed",
        "init_command": "SET sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', time_zone='+00:00'",
        **query,
    }
    test = {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_nopad_bin"}
    return {"ENGINE": "django.db.backends.mysql", "OPTIONS": options, "TEST": test}
