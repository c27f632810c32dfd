"""The *Test* of settings groups, whose steps say what the other side answered, and the last use that is recorded."""

from __future__ import annotations

import secrets
import smtplib
from collections.abc import Iterator
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models import Max, Q
from django.utils.translation import gettext

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.base.store.blobs import places
from watchbook.base.store.folder import disk_usage
from watchbook.base.store.models import Blob
from watchbook.base.text import cut
from watchbook.core.accounts.models import User
from watchbook.core.health import last_use
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.ops import backup
from watchbook.core.ops.move.databases import size_bytes
from watchbook.core.registry import Step, Use
from watchbook.kit.formatting import number_text, size_text


def try_storage(user: User | None) -> Iterator[Step]:
    """Store, read and delete a few bytes where new content goes, and say how much room is left."""
    content = secrets.token_bytes(64)
    try:
        blob = blobs.put(content)
        try:
            is_same = b"".join(blobs.stream(blob.sha256)) == content
        finally:
            places.current().remove(blob.sha256)
            Blob.objects.filter(pk=blob.sha256).delete()
    except (blobs.BlobError, OSError) as error:
        yield Step(False, gettext("The storage failed: %(reason)s") % {"reason": error})
        return
    words = {"place": settings.BLOBS, "n": len(content)}
    yield Step(is_same, gettext("%(n)s bytes were stored, read and deleted in: %(place)s") % words)
    usage = disk_usage()
    yield Step(not usage.is_full, gettext("Free disk space: %(size)s") % {"size": size_text(usage.free)})


def last_stored(after: datetime | None) -> Use | None:
    """The last content that was stored. A failure leaves no row, so nothing says since when it works."""
    rows = Blob.objects.filter(place=settings.BLOBS)
    at = (rows.filter(put_at__gt=after) if after else rows).aggregate(at=Max("put_at"))["at"]
    return Use(True, at) if at else None


def last_backup(after: datetime | None) -> Use | None:
    """The last run of the nightly backup, or a newer backup that was started otherwise."""
    runs = JobRun.objects.filter(name="ops.backup", state__in=[State.DONE, State.FAILED], finished_at__isnull=False)
    use = last_use(runs, "finished_at", Q(state=State.DONE), after=after, answer=lambda run: cut(run.error, 500))
    kept = next((each for each in backup.listed() if each.manifest), None)
    if kept is None or (after and kept.made_at < after) or (use and use.at >= kept.made_at):
        return use
    failed_at = None if use is None else use.other_at if use.is_ok else use.at
    return Use(True, kept.made_at, use.since if use and use.is_ok else kept.made_at, other_at=failed_at)


def try_backups(user: User | None) -> Iterator[Step]:
    """Write to the folder of backups, compare the room with the database, and open the newest backup."""
    from django.db import connection  # the thread's own

    folder = backup.folder()
    probe = folder / f".test-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe.write_bytes(b"test")
        probe.unlink()
    except OSError as error:
        yield Step(False, gettext("%(place)s failed: %(reason)s") % {"place": folder, "reason": error.strerror})
        return
    yield Step(True, gettext("The folder %(place)s can be written.") % {"place": folder})
    free, needed = disk_usage().free, 2 * size_bytes(connection)
    words = {"free": size_text(free), "needed": size_text(needed)}
    yield Step(free > needed, gettext("Free disk space: %(free)s. A backup needs about %(needed)s.") % words)
    newest = next(iter(backup.listed()), None)
    if newest is None:
        yield Step(True, gettext("There is no backup yet."))
    elif newest.manifest is None:
        yield Step(False, gettext("The newest backup cannot be read: %(reason)s") % {"reason": newest.trouble})
    else:
        rows = number_text(newest.manifest.rows)
        yield Step(True, gettext("Newest backup: %(name)s, %(rows)s rows.") % {"name": newest.name, "rows": rows})


def try_mail(user: User | None) -> Iterator[Step]:
    """Connect, sign in and send one message to the operator; stop at the first refusal."""
    if not settings.EMAIL_HOST:
        yield Step(False, gettext("No mail server is set."))
        return
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    # A command has no user: the mail goes to the sender's own address.
    address = user.email if user else parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    connection: Any = get_connection(timeout=15)
    try:
        connection.open()
        yield Step(True, gettext("Connected to %(place)s.") % {"place": place})
        mail = EmailMessage(
            gettext("Test mail of Watchbook"),
            gettext("This mail was sent from the settings page at %(time)s.") % {"time": clock.now().isoformat()},
            settings.DEFAULT_FROM_EMAIL, [address], connection=connection,
        )  # fmt: skip
        mail.send()
        yield Step(True, gettext("The server accepted a mail to %(address)s.") % {"address": address})
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        yield Step(False, gettext("The server refused: %(answer)s") % {"answer": f"{error.smtp_code} {said}"})
    except (smtplib.SMTPException, OSError, ValueError) as error:
        yield Step(False, gettext("%(place)s failed: %(reason)s") % {"place": place, "reason": error})
    finally:
        connection.close()
