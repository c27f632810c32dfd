"""Actions of members on a page together: comment, reply, resolve, watch, be here, suggest and decide."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from watchbook.core.accounts.models import User
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotFound
from watchbook.systems.library.models import (
    Comment,
    CommentThread,
    NodeType,
    Page,
    PageVersion,
    PageWatch,
    SpaceRole,
    Suggestion,
    SuggestionState,
)
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.store import check_channel, fresh, text, together, writing


def list_threads(user: User, page_id: UUID, *, resolved: bool = False) -> list[CommentThread]:
    """Return the open threads of a page with their comments, oldest first; or those that were resolved. For viewers."""
    page = access.page_for(user, page_id)
    comments = Prefetch("comments", Comment.objects.select_related("author").order_by("created_at", "pk"))
    rows = CommentThread.objects.filter(page=page, resolved_at__isnull=not resolved).prefetch_related(comments)
    found = list(rows.select_related("resolved_by").order_by("created_at", "pk")[: together.MOST_THREADS])
    if page.space_id not in access.sight(user).approved:
        return found
    # A passage of a text that is not approved is not for viewers.
    words = " ".join(to_text(page.content).split())
    return [thread for thread in found if thread.quote in words]


def add_comment(user: User, page_id: UUID, *, words: str, quote: str = "") -> Comment:
    """Comment on a page, or on the passage `quote` of it. For viewers. Notifies members it names, and watchers."""
    page = access.page_for(user, page_id)
    kept = together.comment_text(words)
    with writing(page.space_id, structural=False):
        return together.begin_thread(fresh(page), user, kept, quote)


def reply_to(user: User, thread_id: UUID, *, words: str) -> Comment:
    """Reply in a thread. For viewers. Notifies who wrote in it, members it names, and watchers."""
    thread = thread_for(user, thread_id)
    kept = together.comment_text(words)
    with writing(thread.page.space_id, structural=False):
        return together.reply(thread, user, kept)


def resolve_thread(user: User, thread_id: UUID, *, resolved: bool = True) -> CommentThread:
    """Resolve a thread or open it again. For editors, and for the member who began it."""
    thread = thread_for(user, thread_id)
    first = thread.comments.order_by("created_at", "pk").values_list("author_id", flat=True).first()
    if first != user.pk:
        access.page_for(user, thread.page_id, SpaceRole.WRITER)
    with writing(thread.page.space_id, structural=False):
        together.set_resolved(thread, user, resolved=resolved)
    return thread


def thread_for(user: User, thread_id: UUID) -> CommentThread:
    """Return a thread of a live page that the user can read."""
    thread = CommentThread.objects.filter(pk=thread_id).first()
    if thread is None:
        raise NotFound
    thread.page = access.page_for(user, thread.page_id)
    return thread


def be_here(user: User, page_id: UUID) -> list[User]:
    """Note that the user is on the page, and return the other members who are. For viewers."""
    page = access.page_for(user, page_id)
    with transaction.atomic():
        # Without the lock of the space: every open window does this three times a minute.
        check_channel([page.space.workspace_id])
        return together.be_here(page, user)


def set_watch(user: User, page_id: UUID, *, watched: bool) -> None:
    """Watch a page, or a folder with everything in it. For viewers."""
    page = access.page_for(user, page_id)
    with writing(page.space_id, structural=False):
        together.set_watch(page, user, watched=watched)


def is_watching(user: User, page: Page) -> bool:
    return PageWatch.objects.filter(user=user, page=page).exists()


def suggest_edit(user: User, page_id: UUID, *, version: int, title: str, content: str) -> Suggestion:
    """Suggest a text for a page to its editors. For viewers; a newer suggestion replaces the own open one."""
    page = access.page_for(user, page_id)
    if page.node_type == NodeType.FOLDER or not PageVersion.objects.filter(page=page, number=version).exists():
        raise NotFound
    new = text.draft(title, content)
    with writing(page.space_id, structural=False):
        return together.suggest(fresh(page), user, version=version, title=new.title or "", content=new.content or "")


def list_suggestions(user: User, page_id: UUID) -> QuerySet[Suggestion]:
    """Return the open suggestions for a page, oldest first. For editors."""
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    rows = Suggestion.objects.filter(page=page, state=SuggestionState.OPEN).select_related("created_by")
    return rows.order_by("created_at", "pk")


def accept_suggestion(user: User, suggestion_id: UUID) -> Page:
    """Save a suggestion, merged with what was saved since. VersionConflict if that needs a choice. For editors."""
    found = _suggestion(user, suggestion_id)
    with writing(found.page.space_id):
        page = fresh(found.page)
        together.decide(found, user, SuggestionState.ACCEPTED)
        text.save(page, user, text.draft(found.title, found.content), version=found.version)
    return page


def reject_suggestion(user: User, suggestion_id: UUID) -> Page:
    """Close a suggestion without saving it. For editors."""
    found = _suggestion(user, suggestion_id)
    with writing(found.page.space_id, structural=False):
        together.decide(found, user, SuggestionState.REJECTED)
    return found.page


def _suggestion(user: User, suggestion_id: UUID) -> Suggestion:
    found = Suggestion.objects.filter(pk=suggestion_id).first()
    if found is None:
        raise NotFound
    found.page = access.page_for(user, found.page_id, SpaceRole.WRITER)
    return found
