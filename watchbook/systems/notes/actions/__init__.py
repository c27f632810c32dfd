"""What pages, API and commands do with notes.

Functions take plain values and raise NotesError (code, sentence, retryable). Workflow steps take the `execution_id`
and `fence` that `acquire` returned, and raise LockLost if another run holds the lock; then nothing was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.crypto import DecryptionError
from watchbook.base.logs.redact import remember
from watchbook.base.text import Sentence, clean_text, cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.jobs import actions as job_actions
from watchbook.core.jobs.models import JobRun
from watchbook.systems.notes import encryption, fetch, options, store, validation
from watchbook.systems.notes.actions.keywords import add_keyword as add_keyword  # used with the others by its callers
from watchbook.systems.notes.encryption import redacted
from watchbook.systems.notes.fetch import Adapter, Login, SearchQuery, pairs_of
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import AllowedUser, Candidate, Cookie
from watchbook.systems.notes.parse.documents import STALE_TOKEN
from watchbook.systems.notes.parse.records import NoteAddress
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, Code, NotesError, invalid
from watchbook.systems.notes.store import candidates, cookies, notes, pool, readings
from watchbook.systems.notes.validation import (
    AcquireBody,
    AddressBody,
    CandidatesBody,
    ClaimBody,
    CommitBody,
    FailBody,
    HolderBody,
    RecoverBody,
    ReleaseBody,
    ReportBody,
    parse,
)

Payload = Mapping[str, Any]

LONGEST_COOKIE = 8000
RECOVER_WORKFLOW = "recover"
BAD_COOKIE = gettext_noop("Paste the cookie as a browser sends it: name=value; name=value.")
UNKNOWN_COOKIE = gettext_noop("No cookie has this name.")
OTHER_PLATFORM = gettext_noop("A cookie with this name belongs to another platform.")
PROBE_NEEDS_NOTE = gettext_noop("The page adapter tests a cookie by reading a note. Add a candidate first.")
SAME_COOKIE = gettext_noop("This cookie is already in the pool under another name.")


# Workflow steps.


def add_candidates(payload: Payload) -> dict[str, Any]:
    """`items[{note_id, platform, note_url, source_keyword}]`: each note becomes a candidate once."""
    stored = candidates.store_found(validation.read_found(parse(CandidatesBody, payload)), clock.now())
    return asdict(stored)


def acquire(payload: Payload) -> dict[str, Any]:
    """`workflow_name` -> `locked, execution_id, fence`, or `locked: false, reason`."""
    name = validation.read_name(parse(AcquireBody, payload).workflow_name, "workflow_name")
    got = store.acquire(name, clock.now())
    if not got.locked:
        return {"locked": False, "reason": _(got.reason)}
    return {"locked": True, "execution_id": got.execution_id, "fence": got.fence}


def heartbeat(payload: Payload) -> dict[str, Any]:
    now = clock.now()
    store.renew(parse(HolderBody, payload).holder, now)
    return {"heartbeat_at": now.isoformat()}


def claim(payload: Payload) -> dict[str, Any]:
    """`batch_size` -> `records[], locked_count`. A record has the fields that `batch` needs."""
    body = parse(ClaimBody, payload)
    rows = candidates.claim(body.holder, body.batch_size, clock.now(), platform=body.platform)
    return {"records": [record_out(row) for row in rows], "locked_count": len(rows)}


def commit(payload: Payload) -> dict[str, Any]:
    """`note_id, result` -> `action: created|skipped, id`, and `omitted` where parts of the result were not valid."""
    body = parse(CommitBody, payload)
    note_id = validation.read_address(AddressBody(note_id=body.note_id)).note_id
    note, omitted = validation.read_result(note_id, body.result)
    meta = body.meta or {}
    kept: dict[str, Any] = {key: cut(str(meta[key]), 100) for key in ("cookie_used", "latency_ms") if key in meta}
    done = asdict(notes.commit(body.holder, note, {**kept, **({"omitted": omitted} if omitted else {})}, clock.now()))
    if not done["reading"]:
        del done["reading"]
    return {**done, "omitted": omitted} if omitted else done


def fail(payload: Payload) -> dict[str, Any]:
    """`note_id, error{code, message, retryable}` -> `status, retry_count`."""
    body = parse(FailBody, payload)
    note_id = validation.read_address(AddressBody(note_id=body.note_id)).note_id
    row = candidates.fail(body.holder, note_id, body.error.model_dump(), clock.now())
    return {"status": str(row.status), "retry_count": row.retry_count}


def release(payload: Payload) -> dict[str, Any]:
    """`status` (completed or failed) -> `status, returned`: candidates still held are pending again."""
    body = parse(ReleaseBody, payload)
    returned = store.release(body.holder, body.status, clock.now())
    return {"status": body.status, "returned": returned}


def recover(payload: Payload | None = None) -> dict[str, Any]:
    """Release locks that had no heartbeat for 30 minutes."""
    parse(RecoverBody, payload or {})
    done = asdict(candidates.recover(clock.now()))
    resolve_alert(store.alert_key(RECOVER_WORKFLOW))
    return done


def report(payload: Payload) -> dict[str, Any]:
    """`workflow_name, message`: a workflow failed. Opens an alert that resolves when the workflow next completes."""
    body = parse(ReportBody, payload)
    name = validation.read_name(body.workflow_name, "workflow_name")
    words = redacted(cut(body.message, 500))
    opened = open_alert(
        store.alert_key(name),
        level="P1",
        source="notes",
        title=Sentence(gettext_noop("The workflow %(name)s failed"), {"name": name}),
        message=words,
        remedy=Sentence(gettext_noop("Open the workflow in n8n and read the error of its last execution.")),
        link="/notes/executions/",
    )
    return {"opened": opened}


def record_out(row: Candidate) -> dict[str, Any]:
    return {
        "note_id": row.note_id,
        "platform": row.platform,
        "note_url": row.note_url,
        "xsec_token": candidates.decrypt_token(row),
        "xsec_source": row.xsec_source,
        "retry_count": row.retry_count,
        "source_keyword": row.source_keyword,
        "locked_at": row.locked_at,
    }


# Actions of users.


def set_user_allowed(user: User, allowed: bool, *, actor: User | None = None) -> bool:
    """Give or take the permission for notes work. Returns whether that changed anything."""
    return allow_user(user, actor=actor) if allowed else disallow_user(user, actor=actor)


def allow_user(user: User, *, actor: User | None = None) -> bool:
    """Let a user do notes work. Returns whether that is new."""
    is_new = AllowedUser.objects.get_or_create(user=user)[1]
    if is_new:
        audit.record("notes.access_allowed", actor=actor, subject=user.email)
    return is_new


def disallow_user(user: User, *, actor: User | None = None) -> bool:
    """Take the permission for notes work from a user; tokens with the scope notes no longer work."""
    was_allowed = bool(AllowedUser.objects.filter(user=user).delete()[0])
    if was_allowed:
        audit.record("notes.access_removed", actor=actor, subject=user.email)
    return was_allowed


def add_cookie(
    name: str, plain: str, *, platform: str = DEFAULT_PLATFORM, user: User | None = None, **values: Any
) -> tuple[Cookie, bool]:
    """Add a cookie to the pool, or replace the secret of the cookie with this name. It is never displayed again.

    `values` may be priority, daily_limit and user_agent.
    """
    remember(plain)
    name = validation.read_name(name, "cookie_name")
    plain = clean_text(plain).strip().removeprefix("Cookie:").strip()
    if not list(pairs_of(plain)) or len(plain) > LONGEST_COOKIE or any(c in plain for c in "\r\n"):
        raise invalid(BAD_COOKIE, "cookie")
    closed = encryption.unavailable_reason()
    if closed:
        raise NotesError(Code.COOKIE_EXHAUSTED, closed, reason="pool_closed")
    mark = encryption.fingerprint(plain)
    if Cookie.objects.filter(fingerprint=mark, platform=platform).exclude(cookie_name=name).exists():
        raise invalid(SAME_COOKIE, "cookie")
    if Cookie.objects.filter(cookie_name=name).exclude(platform=platform).exists():
        raise invalid(OTHER_PLATFORM, "cookie_name")
    row, is_new = cookies.put(name, platform, plain, _cookie_values(values), clock.now())
    audit.record("notes.cookie_added" if is_new else "notes.cookie_replaced", actor=user, subject=name)
    return row, is_new


def _cookie_values(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "priority" in values:
        found["priority"] = validation.read_number(values, "priority", 0, -1000, 1000)
    if "daily_limit" in values:
        found["daily_limit"] = validation.read_number(values, "daily_limit", 200, 0, 1_000_000)
    if "user_agent" in values:
        found["user_agent"] = cut(str(values["user_agent"] or "").replace("\n", " "), 400)
    return found


def change_cookie(name: str, *, user: User | None = None, **values: Any) -> Cookie:
    """Change priority, daily limit or user agent. The cookie, its state and its counters are kept."""
    row = find_cookie(name)
    cookies.change(row, _cookie_values(values), clock.now())
    audit.record("notes.cookie_changed", actor=user, subject=name)
    return find_cookie(name)


def find_cookie(name: str) -> Cookie:
    row = Cookie.objects.filter(cookie_name=name).first()
    if row is None:
        raise NotesError(Code.NOT_FOUND, UNKNOWN_COOKIE)
    return row


def switch_cookie(name: str, *, on: bool, user: User | None = None) -> Cookie:
    """Enable or disable a cookie. Its state and counters are kept."""
    row = find_cookie(name)
    cookies.switch(row, on=on, now=clock.now())
    audit.record("notes.cookie_enabled" if on else "notes.cookie_disabled", actor=user, subject=name)
    return find_cookie(name)


def reset_cookie(name: str, *, user: User | None = None) -> Cookie:
    """Make a cookie active and set its error counters to 0, after a manual check."""
    row = find_cookie(name)
    cookies.reset(row, clock.now())
    audit.record("notes.cookie_reset", actor=user, subject=name)
    return find_cookie(name)


def probe_cookie(name: str, *, user: User | None = None) -> dict[str, Any]:
    """Send one test request with this cookie, also while it cools down: an error then bans it."""
    row, reader, now = find_cookie(name), fetch.adapter(), clock.now()
    request = _probe_request(reader, row.platform)
    try:
        held = pool.probe(row, now)
    except (DecryptionError, encryption.PoolUnavailable) as closed:
        raise NotesError(Code.COOKIE_EXHAUSTED, str(closed), reason="pool_closed") from None
    use, found = pool.Use(asked=1), {"success": True, "code": "", "reason": ""}
    try:
        request(Login(held.cookie_name, held.cookie, held.user_agent))
        use.succeeded = 1
    except NotesError as error:
        if error.code in crawl.NOT_COUNTED or error.reason == STALE_TOKEN:
            use.succeeded = 1  # the note is the reason; the platform accepted the cookie
        else:
            use.failed, use.code, use.reason = 1, str(error.code), error.reason
            use.cookie_error, use.cookie_error_code = error.cookie_error, str(error.code)
            use.cookie_error_reason = error.reason
            found = {"success": False, "code": str(error.code), "reason": error.reason}
    pool.end(held, use, clock.now())
    audit.record("notes.cookie_probed", actor=user, subject=name)
    return {**found, "status": find_cookie(name).status}


def _probe_request(reader: Adapter, platform: str) -> Callable[[Login], Any]:
    """Return the test request: a search, or one known note for an adapter that cannot search."""
    if reader.can_search:
        return lambda login: reader.search(SearchQuery("a"), login, 10.0)
    known = Candidate.objects.filter(platform=platform).order_by("-updated_at", "-pk").first()
    if known is None:
        raise NotesError(Code.INVALID_INPUT, PROBE_NEEDS_NOTE, reason="cannot_search")
    address = NoteAddress(known.note_id, candidates.decrypt_token(known), known.xsec_source)
    return lambda login: reader.detail(address, login, 10.0)


def rotate_keys(user: User | None = None) -> cookies.Rotation:
    """Re-encrypt all cookies with the current key; cookies with a missing key are named and not changed."""
    try:
        done = cookies.rotate(clock.now())
    except encryption.PoolUnavailable as closed:
        raise NotesError(Code.COOKIE_EXHAUSTED, closed.message, reason="pool_closed") from None
    audit.record("notes.keys_rotated", actor=user, subject=done.current_key_id, rotated=done.rotated)
    return done


def close_breaker(platform: str = DEFAULT_PLATFORM, *, user: User | None = None) -> bool:
    """Close the circuit breaker before its pause ends."""
    was_open = pool.close_breaker(platform)
    if was_open:
        audit.record("notes.breaker_closed", actor=user, subject=platform)
    return was_open


def retry_failed(note_ids: Iterable[str] | None = None) -> int:
    """Make failed candidates pending again with 0 attempts; without IDs all of them."""
    return candidates.retry_failed(note_ids, clock.now())


def read_again(note_ids: Sequence[str], *, user: User | None = None, request: HttpRequest | None = None) -> int:
    """Queue collected notes to be read again now; return how many. Notes that are queued already are not counted."""
    asked = readings.ask(note_ids, clock.now())
    if asked and options.RUNNER.value and fetch.adapter_name():
        collect_soon(user, request)
    return asked


def delete_note(note_id: str, *, user: User | None = None) -> bool:
    gone = notes.delete_note(note_id)
    if gone:
        audit.record("notes.note_deleted", actor=user, subject=note_id)
    return gone


@transaction.atomic
def delete_notes(note_ids: Sequence[str], *, user: User | None = None) -> int:
    """Delete these notes, all or none, and return how many there were."""
    return sum(delete_note(note_id, user=user) for note_id in note_ids)


def delete_author_notes(author_id: str, *, user: User | None = None) -> int:
    gone = notes.delete_author_notes(author_id)
    if gone:
        audit.record("notes.author_notes_deleted", actor=user, subject=author_id, notes=gone)
    return gone


def collect_soon(user: User | None = None, request: HttpRequest | None = None) -> JobRun:
    """Queue a run that collects pending candidates."""
    return job_actions.run_soon("notes.collect", user=user, request=request)
