"""What users do with keywords: add, change, pause, delete, search now.

What users do with creators: follow, change, pause, delete, check now.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.text import clean_text, cut, fold
from watchbook.base.web.errors import WebError
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import actions as job_actions
from watchbook.core.jobs.models import JobRun
from watchbook.systems.notes import validation
from watchbook.systems.notes.fetch.short_links import follow_short_link
from watchbook.systems.notes.jobs import creators as checks
from watchbook.systems.notes.models import Creator, Keyword
from watchbook.systems.notes.parse import pasted
from watchbook.systems.notes.parse.records import SOURCE, TOKEN
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, Code, NotesError, invalid
from watchbook.systems.notes.store import Holder, creators
from watchbook.systems.notes.validation import SearchBody, parse
from watchbook.systems.notes.validation.managed import CreatorChange, KeywordChange

NO_KEYWORD = gettext_noop("Keyword not found.")


@transaction.atomic
def add_keyword(
    keyword: str, platform: str = DEFAULT_PLATFORM, *, user: User | None = None, **given: Any
) -> tuple[Keyword, bool]:
    """Add a keyword, or change and enable the one that exists. Returns whether it is new.

    `given` may be sort, note_type, time_range, every_minutes and is_active, as in `change_keyword`.
    """
    query = validation.read_query(parse(SearchBody, {"keyword": keyword}))
    values = parse(KeywordChange, given).given
    made, is_new = Keyword.objects.get_or_create(
        folded=cut(fold(query.keyword), 200), platform=platform, defaults={"keyword": query.keyword, **values}
    )
    if is_new:
        audit.record("notes.keyword_added", actor=user, subject=made.keyword)
    else:
        change_keyword(made, {"is_active": True, **values}, user=user)
    return made, is_new


def find_keyword(text: str) -> Keyword:
    """Return the keyword of this text, or of this number. Raises NotesError."""
    found = Keyword.objects.filter(folded=cut(fold(text.strip()), 200)).first()
    if found is None and text.isascii() and text.isdigit() and len(text) < 19:
        found = Keyword.objects.filter(pk=int(text)).first()
    if found is None:
        raise NotesError(Code.NOT_FOUND, NO_KEYWORD)
    return found


def change_keyword(keyword: Keyword, given: dict[str, Any], *, user: User | None = None) -> list[str]:
    """Change how a keyword is searched, or pause it; return the names of what changed. Raises NotesError."""
    values = parse(KeywordChange, given).given
    changed = [name for name, value in values.items() if getattr(keyword, name) != value]
    if not changed:
        return []
    for name in changed:
        setattr(keyword, name, values[name])
    # Another search, or one that was paused, has its turn now.
    keyword.next_search_at = clock.now()
    with transaction.atomic():
        keyword.save(update_fields=[*changed, "next_search_at"])
        audit.record("notes.keyword_changed", actor=user, subject=keyword.keyword, fields=", ".join(changed))
    return changed


def set_keyword_active(keyword: Keyword, is_active: bool, *, user: User | None = None) -> None:
    change_keyword(keyword, {"is_active": is_active}, user=user)


@transaction.atomic
def delete_keyword(keyword: Keyword, *, user: User | None = None) -> None:
    """Delete a keyword. The candidates and notes that it found are kept, with its name."""
    audit.record("notes.keyword_deleted", actor=user, subject=keyword.keyword)
    keyword.delete()


def search_soon(keyword: Keyword, user: User | None = None, request: HttpRequest | None = None) -> JobRun:
    """Queue a search of this keyword now, regardless of its schedule."""
    set_keyword_active(keyword, True, user=user)
    Keyword.objects.filter(pk=keyword.pk).update(next_search_at=clock.now())
    return job_actions.run_soon("notes.search", user=user, request=request)


NO_CREATOR = gettext_noop("Creator not found.")
NOT_A_CREATOR = gettext_noop("Give the address of a profile, or its ID of 24 characters.")
SHORT_LINK_FAILED = gettext_noop("The short link could not be followed. Try again later.")
_LINK = re.compile(r"https?://[!-~]{4,2048}", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{24}\Z")


def read_creator(text: str) -> tuple[str, str, str]:
    """Return the ID, token and token source of a pasted profile, short link or ID. Raises NotesError."""
    text = clean_text(text[:5000]).strip()
    if _ID.match(text):
        return text, "", ""
    found = _LINK.search(text if "://" in text else f"https://{text}")
    link = found.group().rstrip(".,;:!?)]}\"'") if found else ""
    if link and pasted.is_on(link, pasted.SHORT_DOMAINS) and not pasted.creator_of(link):
        try:
            link = follow_short_link(link)
        except WebError:
            raise NotesError(Code.NETWORK_ERROR, SHORT_LINK_FAILED) from None
    user_id = pasted.creator_of(link)
    if not user_id:
        raise invalid(NOT_A_CREATOR, "creator")
    query = parse_qs(urlsplit(link).query, max_num_fields=50)
    token, source = query.get("xsec_token", [""])[0], query.get("xsec_source", [""])[0]
    return user_id, token if TOKEN.match(token) else "", source if SOURCE.match(source) else ""


@transaction.atomic
def add_creator(text: str, *, user: User | None = None, **given: Any) -> tuple[Creator, bool]:
    """Follow a creator by address or ID; one that is followed already is changed and resumed."""
    values = parse(CreatorChange, given).given
    user_id, token, source = read_creator(text)
    row, is_new = creators.put(user_id, values, (token, source), clock.now())
    if is_new:
        audit.record("notes.creator_added", actor=user, subject=row.title)
    else:
        change_creator(row, {"is_active": True, **values}, user=user)
    return row, is_new


def find_creator(number: int) -> Creator:
    found = Creator.objects.filter(pk=number).first() if 0 < number < 2**63 else None
    if found is None:
        raise NotesError(Code.NOT_FOUND, NO_CREATOR)
    return found


def change_creator(row: Creator, given: dict[str, Any], *, user: User | None = None) -> list[str]:
    """Change label or frequency, or pause; return the names of what changed. Raises NotesError."""
    values = parse(CreatorChange, given).given
    if "label" in values:
        values["label"] = clean_text(values["label"]).strip()
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not changed:
        return []
    if set(changed) - {"label"}:
        changed["next_check_at"] = clock.now()
    with transaction.atomic():
        creators.change(row, changed)
        named = [name for name in changed if name != "next_check_at"]
        audit.record("notes.creator_changed", actor=user, subject=row.title, fields=", ".join(named))
    return named


@transaction.atomic
def delete_creator(row: Creator, *, user: User | None = None) -> None:
    """Stop following a creator. The candidates and notes that were found are kept."""
    audit.record("notes.creator_deleted", actor=user, subject=row.title)
    creators.delete(row)


def check_soon(
    row: Creator, *, full: bool = False, user: User | None = None, request: HttpRequest | None = None
) -> JobRun:
    """Queue a check of this creator now; with `full` it reads the whole listing, which closes a gap."""
    creators.change(row, {"is_active": True, "next_check_at": clock.now(), "wants_full": full or row.wants_full})
    return job_actions.run_soon("notes.creators", user=user, request=request)


def check_next(holder: Holder) -> dict[str, Any]:
    """The step of a workflow: check the creator that is due longest, and say how many are left."""
    checked = checks.check_next(holder)
    left = Creator.objects.due(clock.now()).count()
    if checked is None:
        return {"checked": False, "left": 0, "stop": False}
    return {
        "checked": True, "creator_id": checked.creator_id, "found": checked.found, "added": checked.added,
        "possible_gap": checked.possible_gap, "failure": checked.error, "left": left, "stop": checked.stop,
    }  # fmt: skip
