"""Is this server set up well? One line per question; asked by `watchbook doctor`, before anything is started."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from watchbook.base import clock, env
from watchbook.base.crypto import KeyFileError, first_opens, secret_file
from watchbook.base.env import InvalidSetting
from watchbook.base.store import blobs
from watchbook.base.store.blobs import BlobError
from watchbook.base.store.models import Blob, SortedList
from watchbook.base.web.client import Client
from watchbook.base.web.errors import Refused, TimedOut, Unreachable, WebError
from watchbook.core import registry
from watchbook.core.accounts import options as account_options
from watchbook.core.accounts.models import User
from watchbook.core.jobs import options as job_options
from watchbook.core.ops import health, jobs, schema, server, upgrade
from watchbook.core.ops.health import Check
from watchbook.core.people.oidc import try_provider

OLDEST = {"sqlite": (3, 35), "postgresql": (15,), "mysql": (10, 11)}
CLOCK_SECONDS = 30
CONNECT_SECONDS = 2
SHOWN_DIFFERENCES = 12


def examine() -> list[Check]:
    """Every check, in an order in which the first bad one is the one to fix first."""
    checks: list[Check] = []
    silence: str | None = None
    for name, question in QUESTIONS.items():
        if name in ON_THE_DATABASE and silence is None:
            silence = _silence()
        if name in ON_THE_DATABASE and silence:
            checks.append(Check(name, False, silence))
        else:
            checks.append(_asked(name, question))
    return checks


def _silence() -> str:
    """Why the database does not answer; empty when it does. Asked once, because a vain question takes ten seconds."""
    pool = connection.settings_dict["OPTIONS"].get("pool")
    if isinstance(pool, dict):
        pool["timeout"] = CONNECT_SECONDS  # the usual ten seconds are for a busy server, not for this question
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return _away(error)
    return ""


def _away(error: DatabaseError) -> str:
    return f"The database does not respond ({type(error).__name__})."


def _asked(name: str, question: Callable[[], str]) -> Check:
    """A question answers with a sentence, or raises with one."""
    try:
        return Check(name, True, question())
    except (_Bad, InvalidSetting, KeyFileError, BlobError) as error:
        return Check(name, False, str(error))
    except DatabaseError as error:
        return Check(name, False, _away(error))
    except OSError as error:
        return Check(name, False, f"{error.strerror or type(error).__name__}.")


class _Bad(Exception):
    pass


def _settings() -> str:
    bind = server.check_settings()
    server.check_stray()
    known = env.declared()
    note = "" if bind.is_loopback or settings.PUBLIC_URL.startswith("https") else " Others reach it without encryption."
    return f"{sum(option.is_set for option in known.values())} of {len(known)} settings are set, all readable.{note}"


def _data_folder() -> str:
    home = Path(settings.HOME)
    if not os.access(home, os.W_OK | os.X_OK):
        raise _Bad(f"{home} cannot be written to.")
    for path in (home, home / "keys"):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o027:
            raise _Bad(f"Others can reach {path}. Run: chmod 700 {path}")
    return f"{home} is readable only by this user."


def _keys() -> str:
    folder = Path(settings.HOME) / "keys"
    for name in ("secret_key", "secrets_key"):
        if (folder / name).exists():
            secret_file(folder / name)
    if settings.SECRET_KEY.startswith("django-insecure") or len(set(settings.SECRET_KEY)) < 5:
        raise _Bad("SECRET_KEY is a sample. Remove it: Watchbook then creates one.")
    return f"Secrets are encrypted with key {next(iter(settings.SECRETS_KEYS))}."


def _secrets() -> str:
    """Decrypt one stored secret of each kind: after a restore without its keys they are locked."""
    if User._meta.db_table not in connection.introspection.table_names():
        return "The schema is not there yet, so there are no secrets."
    try:
        opened = {name: first_opens(reencrypt) for name, reencrypt in jobs.stored_secrets().items()}
    except DatabaseError:
        return "Not checked: the schema is not that of this version."
    locked = sorted(name for name, is_open in opened.items() if is_open is False)
    if locked:
        raise _Bad(
            f"Stored secrets of {', '.join(locked)} cannot be decrypted with the keys here. "
            "Copy the old keys folder into the data folder, or enter the values again."
        )
    kinds = sum(is_open is True for is_open in opened.values())
    return f"One secret of each of {kinds} kinds was decrypted." if kinds else "No secrets are stored."


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    version = connection.get_database_version()
    if tuple(version) < OLDEST[connection.vendor]:
        oldest = ".".join(map(str, OLDEST[connection.vendor]))
        raise _Bad(
            f"{connection.display_name} {'.'.join(map(str, version))} is too old. Watchbook needs {oldest} or newer."
        )
    return f"{connection.display_name} {'.'.join(map(str, version))} responds."


def _migrations() -> str:
    newer, waiting = upgrade.unknown_migrations(), upgrade.pending_migrations()
    if newer:
        raise _Bad(f"The database was made by a newer version ({newer[0]}). Install that version.")
    if waiting:
        raise _Bad(f"{len(waiting)} migrations are pending. `watchbook up` or `watchbook migrate` applies them.")
    return "The schema is up to date."


def _schema() -> str:
    """Compare tables, columns, indexes and constraints with the models."""
    if upgrade.unknown_migrations() or upgrade.pending_migrations():
        return "Not compared: the schema is not that of this version."
    found = schema.differences()
    if found:
        more = f" And {len(found) - SHOWN_DIFFERENCES} more." if len(found) > SHOWN_DIFFERENCES else ""
        raise _Bad(
            f"The schema differs from the models. {' '.join(found[:SHOWN_DIFFERENCES])}{more}"
            " Restore a backup, or move the data to a new database with `watchbook move`."
        )
    return "Tables, columns, indexes and constraints are those of the models."


def _stored_rows() -> str:
    """Let each system compare what it stores twice, such as counters."""
    if upgrade.unknown_migrations() or upgrade.pending_migrations():
        return "Not compared: the schema is not that of this version."
    examined = [source for source in registry.sources() if source.examination]
    found = [said for source in examined if (said := registry.load(source.examination)())]
    if found:
        raise _Bad(" ".join(found))
    return f"Counters are right in {len(examined)} of {len(registry.sources())} sources; the others keep none."


def _blobs() -> str:
    """Measure the content of every blob that something refers to."""
    if Blob._meta.db_table not in connection.introspection.table_names():
        return "The schema is not there yet, so there are no blobs."
    lost = [blob.sha256 for blob in blobs.missing()]
    lost += SortedList.objects.filter(data=None, packed_sha256=None).values_list("pk", flat=True)
    if lost:
        raise _Bad(
            f"{len(lost)} blobs are missing, such as {lost[0][:12]}. New content goes to {_shown_place()}. "
            "The next complete check of a source repairs its lists; a backup has the rest."
        )
    return f"{Blob.objects.referenced().count()} blobs are complete. New content goes to {_shown_place()}."


def _shown_place() -> str:
    return {"files": "the data folder", "database": "the database"}.get(settings.BLOBS, str(settings.BLOBS))


def _disk() -> str:
    check = health.disk()
    if not check.ok:
        raise _Bad(check.message)
    return check.message


def _clock() -> str:
    here = datetime.now(UTC)
    if here.year < 2025:
        raise _Bad(f"This machine's clock says {here:%Y-%m-%d}.")
    if connection.vendor == "sqlite":
        return f"It is {here:%Y-%m-%d %H:%M:%S} UTC."
    with connection.cursor() as cursor:
        cursor.execute("SELECT UTC_TIMESTAMP(6)" if connection.vendor == "mysql" else "SELECT clock_timestamp()")
        there = cursor.fetchone()[0]
    there = there if there.tzinfo else there.replace(tzinfo=UTC)
    apart = abs((clock.now() - there).total_seconds())
    if apart > CLOCK_SECONDS:
        raise _Bad(f"This machine's clock and the database's are {apart:.0f} s apart. Set both by NTP.")
    return f"This machine's clock and the database's are {apart:.1f} s apart."


def _broker() -> str:
    url = job_options.BROKER_URL.value
    if not url:
        return "No broker is set: jobs run in the web process."
    from kombu.connection import Connection  # only where a broker is set
    from kombu.exceptions import KombuError

    connect: Any = Connection
    try:
        with connect(url, connect_timeout=5) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=5)
            return f"{broker.transport.driver_type} responds."
    except (KombuError, OSError, ValueError) as error:
        raise _Bad(f"The broker of CELERY_BROKER_URL does not respond ({type(error).__name__}).") from None


def _mail() -> str:
    if not settings.EMAIL_HOST:
        return "No mail server is set: e-mails are written to the log."
    from django.core.mail import get_connection

    mailer = get_connection(timeout=5)
    try:
        mailer.open()
    except (SMTPException, OSError) as error:
        raise _Bad(
            f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT} does not accept the connection ({type(error).__name__})."
        ) from None
    mailer.close()
    return f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT} responds."


def _reachability() -> str:
    """Sites whose address was set. The usual ones are not asked: a machine without internet is not set up badly."""
    asked = [name for name in env.declared() if _is_site(name)]
    client = Client(is_paced=False)
    for name in asked:
        try:
            client.get(str(env.declared()[name].value), follow=0, deadline_seconds=5, raise_for_status=False)
        except (Refused, Unreachable, TimedOut) as error:
            raise _Bad(f"{name}: {error.message}") from None
        except WebError:
            pass  # it answers; what it answers is not ours to judge here
    return f"{', '.join(asked)}: all respond." if asked else "No site is set other than the usual ones."


def _is_site(name: str) -> bool:
    option = env.declared()[name]
    if not name.endswith("_URL") or not option.is_set or option.secret or name == "WATCHBOOK_PUBLIC_URL":
        return False
    return str(option.value).startswith(("http://", "https://"))


def _sign_in() -> str:
    if not account_options.is_oidc_set():
        return "Single sign-on is not set."
    for step in try_provider(None):
        if not step.is_ok:
            raise _Bad(step.text)
    only = " It is the only way in." if account_options.is_oidc_only() else ""
    return f"{account_options.OIDC_ISSUER.value} responds.{only}"


def _workers() -> str:
    if "job_workers" not in connection.introspection.table_names():
        return "No worker has run so far."
    count = health.live_workers()
    stuck = health.stuck_queues(clock.now())
    if stuck:
        raise _Bad(
            f"{min(stuck)} is stuck: runs are queued and no worker takes them."
            " Start `watchbook up` or `watchbook worker`."
        )
    return f"{count} workers are running." if count else "No worker is running, and no run is queued."


QUESTIONS: dict[str, Callable[[], str]] = {
    "settings": _settings,
    "data_folder": _data_folder,
    "keys": _keys,
    "disk": _disk,
    "database": _database,
    "secrets": _secrets,
    "migrations": _migrations,
    "schema": _schema,
    "stored_rows": _stored_rows,
    "blobs": _blobs,
    "clock": _clock,
    "broker": _broker,
    "mail": _mail,
    "sign_in": _sign_in,
    "reachability": _reachability,
    "workers": _workers,
}
ON_THE_DATABASE = {"database", "secrets", "migrations", "schema", "stored_rows", "blobs", "clock", "workers"}
