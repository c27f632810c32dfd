"""What users do with keywords: add, change, pause, delete, search now."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.text import cut, fold
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import actions as job_actions
from watchbook.core.jobs.models import JobRun
from watchbook.systems.notes import validation
from watchbook.systems.notes.models import Keyword
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, Code, NotesError
from watchbook.systems.notes.validation import SearchBody, parse
from watchbook.systems.notes.validation.managed import KeywordChange

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
