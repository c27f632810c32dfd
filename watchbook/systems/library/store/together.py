"""Writes comments, presence, watches and suggestions, and notifies the members they concern.

A notification goes by mail to the account of a member who can still read the page. One event notifies a member once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import override

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts.models import User
from watchbook.core.notify.message import Named, Notification
from watchbook.core.notify.outbox.enqueue import notify_owner
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.library.access import readers_of
from watchbook.systems.library.errors import Conflict, Wrong
from watchbook.systems.library.models import (
    Comment,
    CommentThread,
    Page,
    PageProperties,
    PageWatch,
    Presence,
    Suggestion,
    SuggestionState,
)
from watchbook.systems.library.models.together import COMMENT_LENGTH, QUOTE_LENGTH
from watchbook.systems.library.models.tree import ancestors
from watchbook.systems.library.store.publish import KIND, SOURCE, audience_of, page_path

COMMENTED = "commented"
SUMMARY = 300
MOST_THREADS = 500
MOST_SUGGESTIONS = 50
# Who was seen this short a time ago is here; the page asks every 20 seconds.
HERE = timedelta(seconds=60)
KEPT = timedelta(hours=1)
_NAMED = re.compile(r"(?<![\w@.])@([\w.+-]+(?:@[\w-]+(?:\.[\w-]+)+)?)")


def comment_text(text: str) -> str:
    kept = clean_text(text).strip()
    if not kept:
        raise Wrong("text", _("Enter a comment."))
    if len(kept) > COMMENT_LENGTH:
        raise Wrong("text", _("A comment has at most %(n)s characters.") % {"n": COMMENT_LENGTH})
    return kept


def begin_thread(page: Page, user: User, text: str, quote: str) -> Comment:
    """Add a thread with its first comment."""
    if CommentThread.objects.filter(page=page, resolved_at=None).count() >= MOST_THREADS:
        raise Conflict(_("This page has too many open comments. Resolve some first."), code="too_many_comments")
    kept = " ".join(clean_text(quote).split())[:QUOTE_LENGTH]
    return _add(CommentThread.objects.create(page=page, quote=kept), page, user, text)


def reply(thread: CommentThread, user: User, text: str) -> Comment:
    """Add a reply. A resolved thread is open again."""
    if thread.resolved_at is not None:
        set_resolved(thread, user, resolved=False)
    return _add(thread, thread.page, user, text)


def set_resolved(thread: CommentThread, user: User, *, resolved: bool) -> None:
    thread.resolved_at = clock.now() if resolved else None
    thread.resolved_by = user if resolved else None
    thread.save(update_fields=["resolved_at", "resolved_by"])


def _add(thread: CommentThread, page: Page, user: User, text: str) -> Comment:
    comment = Comment.objects.create(thread=thread, author=user, text=text)
    others = set(thread.comments.exclude(author=None).values_list("author_id", flat=True))
    wanted = others | mentioned(page, text) | watchers(page)
    link = page_path(page.pk) + "#comments"
    _notify(page, user, wanted, f"library.comment:{comment.pk}", COMMENTED, [cut(text, SUMMARY)], link)
    record(
        [
            Entry(
                source=SOURCE, kind=COMMENTED, title=page.title, summary=cut(text, SUMMARY),
                url_path=link, scope=audience_of([page]).newest(page), object_kind=KIND,
                object_id=str(page.pk), occurred_at=comment.created_at, event_key=str(comment.pk),
            )
        ]
    )  # fmt: skip
    return comment


def mentioned(page: Page, text: str) -> set[UUID]:
    """Return the readers of the page whom a text names: `@` with the address, or with the part before its @."""
    names = {name.lower().rstrip(".") for name in _NAMED.findall(text)}
    if not names:
        return set()
    found = readers_of(page).values_list("pk", "email")
    return {pk for pk, email in found if email in names or email.partition("@")[0] in names}


def watchers(page: Page) -> set[UUID]:
    """Return who watches the page or a folder above it."""
    above = [crumb.id for crumb in ancestors(page.pk)] or [page.pk]
    return set(PageWatch.objects.filter(page_id__in=above).values_list("user_id", flat=True))


def notify_saved(page: Page, user: User) -> None:
    """Notify watchers that a member changed the page: once a day for each page and member."""
    found = watchers(page)
    if found:
        event = f"library.saved:{page.pk}:{user.pk}:{page.updated_at:%Y%m%d}"
        _notify(page, user, found, event, "saved", [], page_path(page.pk))


def notify_mentioned(page: Page, user: User, before: str, after: str) -> None:
    """Notify members whom a saved text names for the first time."""
    fresh = people_in(after) - people_in(before)
    if fresh:
        named = {UUID(pk) for pk in fresh}
        event = f"library.mention:{page.pk}:{page.version}"
        _notify(page, user, named, event, "mentioned", [], page_path(page.pk))


_PERSON = re.compile(r'<a data-person="([0-9a-f-]{36})"')


def people_in(content: str) -> set[str]:
    return set(_PERSON.findall(content))


def _subject(kind: str, name: str, title: str) -> str:
    words = {
        COMMENTED: _("%(name)s commented on %(title)s"),
        "saved": _("%(name)s changed %(title)s"),
        "mentioned": _("%(name)s mentioned you in %(title)s"),
        "suggested": _("%(name)s suggested an edit to %(title)s"),
        "accepted": _("%(name)s accepted your edit to %(title)s"),
        "rejected": _("%(name)s rejected your edit to %(title)s"),
    }
    return words[kind] % {"name": name, "title": title}


def _notify(
    page: Page, author: User, wanted: Collection[UUID], event: str, kind: str, lines: Iterable[str], link: str
) -> None:
    said = list(lines)
    for person in readers_of(page, newest=True).filter(pk__in=wanted).exclude(pk=author.pk):
        with override(person.language or settings.LANGUAGE_CODE):
            subject = _subject(kind, author.email.partition("@")[0], page.title)
        notify_owner(
            person,
            Notification(
                event_id=f"{event}:{person.pk}", source=SOURCE, kind=kind, subject=subject, lines=said,
                payload={"type": f"library.{kind}", "page": {"id": str(page.pk), "title": page.title}},
                link=link, thread=f"library.page:{page.pk}", objects=[Named(KIND, str(page.pk))],
            ),
        )  # fmt: skip


def notify_expired(found: PageProperties) -> bool:
    """Notify the owner that the last valid day of a page is over; False if the owner can no longer read it."""
    page, person = found.page, found.owner
    if person is None or not readers_of(page).filter(pk=person.pk).exists():
        return False
    event = f"library.expired:{page.pk}:{found.valid_until}:{person.pk}"
    with override(person.language or settings.LANGUAGE_CODE):
        subject = _("%(title)s was valid until %(day)s") % {"title": page.title, "day": found.valid_until}
    made = notify_owner(
        person,
        Notification(
            event_id=event, source=SOURCE, kind="expired", subject=subject, lines=[],
            payload={"type": "library.expired", "page": {"id": str(page.pk), "title": page.title}},
            link=page_path(page.pk), thread=f"library.page:{page.pk}", objects=[Named(KIND, str(page.pk))],
        ),
    )  # fmt: skip
    return bool(made)


def be_here(page: Page, user: User) -> list[User]:
    """Note that a member is on the page. Returns the others who are."""
    now = clock.now()
    if not Presence.objects.filter(page=page, user=user).update(seen_at=now):
        try:
            with transaction.atomic():
                Presence.objects.create(page=page, user=user, seen_at=now)
        except IntegrityError:  # a second window of the same member was first
            pass
        Presence.objects.filter(seen_at__lt=now - KEPT).delete()
    here = Presence.objects.filter(page=page, seen_at__gt=now - HERE).exclude(user=user)
    return list(readers_of(page).filter(pk__in=here.values("user_id")).order_by("email")[:20])


def set_watch(page: Page, user: User, *, watched: bool) -> None:
    if watched:
        PageWatch.objects.get_or_create(user=user, page=page)
    else:
        PageWatch.objects.filter(user=user, page=page).delete()


def suggest(page: Page, user: User, *, version: int, title: str, content: str) -> Suggestion:
    """Keep an edit for the editors of the page. One open edit a member: the newer one takes its place."""
    is_open = Suggestion.objects.filter(page=page, state=SuggestionState.OPEN)
    if is_open.exclude(created_by=user).count() >= MOST_SUGGESTIONS:
        raise Conflict(_("This page has too many suggested edits."), code="too_many_suggestions")
    is_open.filter(created_by=user).delete()
    made = Suggestion.objects.create(page=page, version=version, title=title, content=content, created_by=user)
    link = page_path(page.pk) + "suggestions/"
    _notify(page, user, watchers(page), f"library.suggestion:{made.pk}", "suggested", [], link)
    return made


def decide(suggestion: Suggestion, user: User, state: SuggestionState) -> None:
    """Close a suggestion. Raises Conflict if another editor was faster."""
    rows = Suggestion.objects.filter(pk=suggestion.pk, state=SuggestionState.OPEN)
    if not rows.update(state=state, decided_by=user, decided_at=clock.now()):
        raise Conflict(_("Another editor has decided about this edit."), code="already_decided")
    page = suggestion.page
    wanted = [suggestion.created_by_id] if suggestion.created_by_id else []
    _notify(page, user, wanted, f"library.decided:{suggestion.pk}", state.value, [], page_path(page.pk))
