"""What people and programs do with notes: the one door for pages, API and commands.

Everything takes plain values and raises Trouble (code, sentence, retryable). Workflow steps take an `execution_id`
and a `fence` as `acquire` gave them and raise LockLost when these are stale; then nothing was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.crypto import CannotOpen
from watchbook.base.logs.known import remember
from watchbook.base.text import clean_text, cut, fold
from watchbook.core.accounts import audit
from watchbook.core.alerts.conditions import close_alert, open_alert
from watchbook.core.alerts.sentences import Sentence
from watchbook.core.jobs import actions as job_actions
from watchbook.core.jobs.models import JobRun
from watchbook.sources.notes import fetch, reading, vault
from watchbook.sources.notes.errors import Trouble, invalid
from watchbook.sources.notes.fetch.visit import SearchQuery, Visit, pairs_of
from watchbook.sources.notes.models import Candidate, Cookie, ExecutionStatus, Keyword
from watchbook.sources.notes.redaction import redacted
from watchbook.sources.notes.rules import BATCH_SIZE, DEFAULT_PLATFORM, MAX_CLAIM, Code
from watchbook.sources.notes.store import breaker, candidates, cookies, executions, notes, pool

Payload = Mapping[str, Any]

LONGEST_COOKIE = 8000
RECOVER_WORKFLOW = "recover"
BAD_COOKIE = gettext_noop("Paste the cookie as a browser sends it: name=value; name=value.")
BAD_STATUS = gettext_noop("An execution ends as completed or failed.")
UNKNOWN_COOKIE = gettext_noop("There is no cookie of this name.")
OTHER_PLATFORM = gettext_noop("A cookie of this name belongs to another platform.")
SAME_COOKIE = gettext_noop("The same cookie is in the pool under another name.")


# The workflow: acquire, heartbeat, claim, commit, fail, release, recover.


def add_candidates(payload: Payload) -> dict[str, Any]:
    """`items[{note_id, platform, note_url, source_keyword}]`: each note becomes a candidate once."""
    stored = candidates.store_found(reading.read_found(payload), clock.now())
    return asdict(stored)


def acquire(payload: Payload) -> dict[str, Any]:
    """`workflow_name` -> `locked, execution_id, fence`, or `locked: false, reason`."""
    name = reading.read_name(payload.get("workflow_name"), "workflow_name")
    got = executions.acquire(name, clock.now())
    if not got.locked:
        return {"locked": False, "reason": _(got.reason)}
    return {"locked": True, "execution_id": got.execution_id, "fence": got.fence}


def heartbeat(payload: Payload) -> dict[str, Any]:
    now = clock.now()
    executions.hold(reading.read_holder(payload), now)
    return {"heartbeat_at": now.isoformat()}


def claim(payload: Payload) -> dict[str, Any]:
    """`batch_size` -> `records[], locked_count`. A record has all that `batch` wants to know."""
    size = reading.read_number(payload, "batch_size", BATCH_SIZE, 1, MAX_CLAIM)
    rows = candidates.claim(reading.read_holder(payload), size, clock.now())
    return {"records": [record_out(row) for row in rows], "locked_count": len(rows)}


def commit(payload: Payload) -> dict[str, Any]:
    """`note_id, result` -> `action: created|skipped, id`."""
    holder = reading.read_holder(payload)
    note_id = reading.read_address({"note_id": payload.get("note_id")}).note_id
    note = reading.read_result(note_id, payload.get("result"))
    meta = payload.get("meta")
    kept = {
        key: cut(str(meta[key]), 100) for key in ("cookie_used", "latency_ms") if isinstance(meta, dict) and key in meta
    }
    return asdict(notes.commit(holder, note, kept, clock.now()))


def fail(payload: Payload) -> dict[str, Any]:
    """`note_id, error{code, message, retryable}` -> `status, retry_count`."""
    holder = reading.read_holder(payload)
    note_id = reading.read_address({"note_id": payload.get("note_id")}).note_id
    error = payload.get("error")
    row = candidates.fail(holder, note_id, error if isinstance(error, dict) else {}, clock.now())
    return {"status": str(row.status), "retry_count": row.retry_count}


def release(payload: Payload) -> dict[str, Any]:
    """`status` (completed or failed) -> `status, returned`: records still held wait again."""
    status = payload.get("status", ExecutionStatus.COMPLETED)
    if status not in {ExecutionStatus.COMPLETED, ExecutionStatus.FAILED}:
        raise invalid(BAD_STATUS, "status")
    returned = executions.release(reading.read_holder(payload), str(status), clock.now())
    return {"status": str(status), "returned": returned}


def recover() -> dict[str, Any]:
    """Frees what has been locked for more than 30 minutes."""
    done = asdict(candidates.recover(clock.now()))
    close_alert(executions.alert_key(RECOVER_WORKFLOW))
    return done


def report(payload: Payload) -> dict[str, Any]:
    """`workflow_name, message`: a workflow broke off. An alert that closes when the workflow next comes to its end."""
    name = reading.read_name(payload.get("workflow_name"), "workflow_name")
    words = redacted(cut(str(payload.get("message") or ""), 500))
    opened = open_alert(
        executions.alert_key(name),
        level="P1",
        source="notes",
        title=Sentence(gettext_noop("The workflow %(name)s broke off"), {"name": name}),
        message=words,
        link="/notes/executions/",
    )
    return {"opened": opened}


def record_out(row: Candidate) -> dict[str, Any]:
    return {
        "note_id": row.note_id,
        "platform": row.platform,
        "note_url": row.note_url,
        "xsec_token": candidates.token_of(row),
        "xsec_source": row.xsec_source,
        "retry_count": row.retry_count,
        "source_keyword": row.source_keyword,
        "locked_at": row.locked_at,
    }


# What a person does.


def add_keyword(keyword: str, platform: str = DEFAULT_PLATFORM) -> tuple[Keyword, bool]:
    """Searched from now on; True when it is new. One that was switched off is switched on again."""
    query = reading.read_query({"keyword": keyword})
    made, is_new = Keyword.objects.get_or_create(
        folded=cut(fold(query.keyword), 200), platform=platform, defaults={"keyword": query.keyword}
    )
    if not is_new and not made.is_active:
        set_keyword_active(made, True)
    return made, is_new


def set_keyword_active(keyword: Keyword, is_active: bool) -> None:
    keyword.is_active, keyword.next_search_at = is_active, clock.now()
    keyword.save(update_fields=["is_active", "next_search_at"])


def add_cookie(
    name: str, plain: str, *, platform: str = DEFAULT_PLATFORM, user: Any = None, **values: Any
) -> tuple[Cookie, bool]:
    """Put a cookie into the pool, or give the one of this name a new secret. Nobody is ever shown it again.

    `values` may be priority, daily_limit and user_agent.
    """
    remember(plain)
    name = reading.read_name(name, "cookie_name")
    plain = clean_text(plain).strip().removeprefix("Cookie:").strip()
    if not list(pairs_of(plain)) or len(plain) > LONGEST_COOKIE or any(c in plain for c in "\r\n"):
        raise invalid(BAD_COOKIE, "cookie")
    closed = vault.why_closed()
    if closed:
        raise Trouble(Code.COOKIE_EXHAUSTED, closed, reason="pool_closed")
    mark = vault.fingerprint(plain)
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
        found["priority"] = reading.read_number(values, "priority", 0, -1000, 1000)
    if "daily_limit" in values:
        found["daily_limit"] = reading.read_number(values, "daily_limit", 200, 0, 1_000_000)
    if "user_agent" in values:
        found["user_agent"] = cut(str(values["user_agent"] or "").replace("\n", " "), 400)
    return found


def change_cookie(name: str, *, user: Any = None, **values: Any) -> Cookie:
    """Another priority, daily limit or user agent. The cookie itself, its state and its counts stay."""
    row = find_cookie(name)
    cookies.change(row, _cookie_values(values), clock.now())
    audit.record("notes.cookie_changed", actor=user, subject=name)
    return find_cookie(name)


def find_cookie(name: str) -> Cookie:
    row = Cookie.objects.filter(cookie_name=name).first()
    if row is None:
        raise Trouble(Code.NOT_FOUND, UNKNOWN_COOKIE)
    return row


def switch_cookie(name: str, *, on: bool, user: Any = None) -> Cookie:
    """Take a cookie out of turn, or put it back in. Its state and counts stay."""
    row = find_cookie(name)
    cookies.switch(row, on=on, now=clock.now())
    audit.record("notes.cookie_enabled" if on else "notes.cookie_disabled", actor=user, subject=name)
    return find_cookie(name)


def reset_cookie(name: str, *, user: Any = None) -> Cookie:
    """Somebody checked it by hand: active again, with nothing held against it."""
    row = find_cookie(name)
    cookies.reset(row, clock.now())
    audit.record("notes.cookie_reset", actor=user, subject=name)
    return find_cookie(name)


def probe_cookie(name: str, *, user: Any = None) -> dict[str, Any]:
    """Ask the platform one thing with this cookie, even while it cools: an error then bans it."""
    row, reader, now = find_cookie(name), fetch.adapter(), clock.now()
    try:
        held = pool.probe(row, now)
    except (CannotOpen, vault.Closed) as closed:
        raise Trouble(Code.COOKIE_EXHAUSTED, str(closed), reason="pool_closed") from None
    use, found = pool.Use(asked=1), {"success": True, "code": "", "reason": ""}
    try:
        reader.search(SearchQuery("a"), Visit(held.cookie_name, held.cookie, held.user_agent), 10.0)
        use.succeeded = 1
    except Trouble as trouble:
        use.failed, use.charge, use.code, use.reason = 1, trouble.charge, str(trouble.code), trouble.reason
        found = {"success": False, "code": str(trouble.code), "reason": trouble.reason}
    pool.end(held, use, clock.now())
    audit.record("notes.cookie_probed", actor=user, subject=name)
    return {**found, "status": find_cookie(name).status}


def rotate_keys(user: Any = None) -> cookies.Rotation:
    """Seal every cookie with the current key; those whose key is not here are named and left as they are."""
    try:
        done = cookies.rotate(clock.now())
    except vault.Closed as closed:
        raise Trouble(Code.COOKIE_EXHAUSTED, closed.message, reason="pool_closed") from None
    audit.record("notes.keys_rotated", actor=user, subject=done.current_key_id, rotated=done.rotated)
    return done


def close_breaker(platform: str = DEFAULT_PLATFORM, *, user: Any = None) -> bool:
    """Ask the platform again although its pause is not over."""
    was_open = breaker.close(platform)
    if was_open:
        audit.record("notes.breaker_closed", actor=user, subject=platform)
    return was_open


def try_again(note_ids: Iterable[str] | None = None) -> int:
    """Failed candidates wait again with a clean count; without ids all of them."""
    return candidates.try_again(note_ids, clock.now())


def forget_note(note_id: str, *, user: Any = None) -> bool:
    gone = notes.forget_note(note_id)
    if gone:
        audit.record("notes.note_forgotten", actor=user, subject=note_id)
    return gone


def forget_author(author_id: str, *, user: Any = None) -> int:
    gone = notes.forget_author(author_id)
    if gone:
        audit.record("notes.author_forgotten", actor=user, subject=author_id, notes=gone)
    return gone


def search_soon(keyword: Keyword, user: Any = None, request: HttpRequest | None = None) -> JobRun:
    """Search this word at the next step of the queue, whenever its turn would have been."""
    set_keyword_active(keyword, True)
    return job_actions.run_soon("notes.search", user=user, request=request)


def collect_soon(user: Any = None, request: HttpRequest | None = None) -> JobRun:
    """Start a collection in the background; its run shows live counts."""
    return job_actions.run_soon("notes.collect", user=user, request=request)
