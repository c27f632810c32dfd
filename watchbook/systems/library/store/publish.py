"""Writes what other users see of a page: search documents, activity entries, share links.

The token of a share link is shown once, its digest is stored. The link of a page in the trash is inactive, not lost.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.db.models import F, Q
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.erase import erase
from watchbook.core.registry import Attributes
from watchbook.core.search import index
from watchbook.core.stream.entries import Entry, record
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library.access import ALL, APPROVED, NEWEST, scope_of, viewer_sight
from watchbook.systems.library.errors import Conflict
from watchbook.systems.library.models import (
    SHARING_ENABLED,
    Attachment,
    NodeType,
    Page,
    PageGuard,
    PageNodeMeta,
    PageRestriction,
    PageVersion,
    ShareLink,
    SpaceSettings,
    WorkspaceFlag,
)
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.parse.links import FILE_PATH, PAGE_PATH

SOURCE, KIND, SAVED, APPROVAL = "library", "page", "saved", "approved"
# Ends the id of the document of an approved version.
SUFFIX = ":approved"
SUMMARY = 300


def page_path(page_id: UUID) -> str:
    return f"{PAGE_PATH}{page_id}/"


def file_path(attachment: Attachment) -> str:
    return f"{FILE_PATH}{attachment.pk}/{quote(attachment.name)}"


@dataclass(frozen=True)
class Audience:
    """Who can find some pages: the innermost restriction of each, and which show viewers approved versions only."""

    restrictions: Mapping[UUID, UUID]
    reviewed: frozenset[UUID]

    def scope(self, page: Page) -> str:
        """Return the scope of all who can open the page."""
        return scope_of(page.space_id, ALL, self.restrictions.get(page.pk))

    def newest(self, page: Page) -> str:
        """Return the scope of those who see the newest text."""
        return scope_of(page.space_id, NEWEST if page.pk in self.reviewed else ALL, self.restrictions.get(page.pk))

    def approved(self, page: Page) -> str:
        return scope_of(page.space_id, APPROVED, self.restrictions.get(page.pk))


def audience_of(pages: Sequence[Page]) -> Audience:
    """Two queries where nothing is restricted or approved."""
    ids = [page.pk for page in pages]
    guards = PageGuard.objects.filter(page__in=ids, is_nearest=True).values_list("page_id", "restriction_id")
    spaces = {page.space_id for page in pages}
    strict = set(SpaceSettings.objects.filter(space__in=spaces, approved_only=True).values_list("pk", flat=True))
    reviewed = {page.pk for page in pages if page.space_id in strict}
    if reviewed:
        folders = PageNodeMeta.objects.filter(page__in=reviewed, node_type=NodeType.FOLDER)
        reviewed -= set(folders.values_list("page_id", flat=True))
    return Audience(dict(guards), frozenset(reviewed))


def put(pages: Iterable[Page], texts: Mapping[UUID, str] | None = None) -> None:
    """Index these pages for search. `texts` are words that the caller extracted before it took a lock.

    Where viewers see approved versions only, the approved version is a document of its own, for them.
    """
    known, found = texts or {}, list(pages)
    audience = audience_of(found)
    index.put(_document(page, known.get(page.pk), audience.newest(page)) for page in found)
    if audience.reviewed:
        by_id = {page.pk: page for page in found if page.pk in audience.reviewed}
        rows = PageVersion.objects.filter(page__in=by_id, number=F("page__properties__approved_number"))
        index.put(_approved(by_id[row.page_id], row, audience) for row in rows)


def rescope(pages: Sequence[Page]) -> None:
    """Bring search documents and activity entries to those who can open the pages now, and to no one else."""
    put(pages)
    audience = audience_of(pages)
    by_scope: dict[tuple[str, bool], list[str]] = {}
    for page in pages:
        by_scope.setdefault((audience.newest(page), False), []).append(str(page.pk))
        by_scope.setdefault((audience.scope(page), True), []).append(str(page.pk))
    for (scope, is_open), ids in by_scope.items():
        rows = StreamEntry.objects.filter(object_kind=KIND, object_id__in=ids)
        (rows.filter(kind=APPROVAL) if is_open else rows.exclude(kind=APPROVAL)).update(scope=scope)


def rescope_space(space_id: UUID, *, approved_only: bool) -> None:
    """Hide newest texts from viewers, or show them, immediately; the job `library.index` writes approved documents."""
    restrictions = PageRestriction.objects.filter(space_id=space_id).values_list("pk", flat=True)
    for restriction in (None, *restrictions):
        names = (scope_of(space_id, ALL, restriction), scope_of(space_id, NEWEST, restriction))
        old, new = names if approved_only else names[::-1]
        index.rescope(KIND, old, new)
        rows = StreamEntry.objects.filter(object_kind=KIND, scope=old)
        rows.exclude(kind=APPROVAL).update(scope=new)


def remove(page_ids: Iterable[UUID]) -> None:
    index.remove(KIND, _documents_of(page_ids))


def remove_approved(page_ids: Iterable[UUID]) -> None:
    index.remove(KIND, [f"{pk}{SUFFIX}" for pk in page_ids])


def _documents_of(page_ids: Iterable[UUID]) -> list[str]:
    return [f"{pk}{suffix}" for pk in page_ids for suffix in ("", SUFFIX)]


def page_id_of(object_id: str) -> str:
    """Return the id of the page that a search document is of."""
    return object_id.partition(":")[0]


def erase_pages(page_ids: Sequence[UUID]) -> None:
    """Erase permanently deleted pages from search, activity and outbox."""
    erase(KIND, _documents_of(page_ids))


def record_saved(pages: Sequence[Page], user: User | None) -> None:
    """Record one activity entry per page, user and day."""
    audience = audience_of(pages)
    record(_entry(page, user, audience.newest(page)) for page in pages)


def record_approved(page: Page, user: User) -> None:
    """Record that a version was approved, for all who can open the page."""
    entry = _entry(page, user, audience_of([page]).scope(page))
    record([entry._replace(kind=APPROVAL, occurred_at=clock.now(), event_key=str(page.version))])


def _approved(page: Page, version: PageVersion, audience: Audience) -> index.Document:
    said = _document(page, to_text(version.content), audience.approved(page))
    return replace(
        said, object_id=f"{page.pk}{SUFFIX}", title=version.title, occurred_at=version.created_at
    )  # fmt: skip


def _document(page: Page, text: str | None, scope: str) -> index.Document:
    return index.Document(
        kind=KIND,
        object_id=str(page.pk),
        scope=scope,
        title=page.title,
        body=to_text(page.content) if text is None else text,
        url_path=page_path(page.pk),
        occurred_at=page.updated_at,
        source=SOURCE,
        attributes=Attributes(place=str(page.space_id)),
    )


def search_attributes(kind: str, ids: Collection[str]) -> dict[str, Attributes]:
    """Return the space of stored pages."""
    pages = {page_id_of(object_id) for object_id in ids}
    rows = Page.objects.filter(pk__in=pages).values_list("pk", "space_id") if kind == KIND else ()
    places = {str(page_id): str(space_id) for page_id, space_id in rows}
    return {each: Attributes(place=places[page]) for each in ids if (page := page_id_of(each)) in places}


def _entry(page: Page, user: User | None, scope: str) -> Entry:
    return Entry(
        source=SOURCE,
        kind=SAVED,
        title=page.title,
        summary=to_text(page.content[: SUMMARY * 20])[:SUMMARY],
        url_path=page_path(page.pk),
        scope=scope,
        object_kind=KIND,
        object_id=str(page.pk),
        occurred_at=page.updated_at,
        event_key=f"{page.updated_at:%Y%m%d}:{getattr(user, 'pk', '') or ''}",
    )


TOKEN_BYTES = 32


def digest_of(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def share(page: Page, user: User, expires_at: datetime | None) -> tuple[ShareLink, str]:
    """A new link and its token, the only time it is known."""
    if not _is_on(page.space.workspace_id):
        raise Conflict(_("Sharing is disabled in this workspace."), code="sharing_disabled")
    if PageGuard.objects.filter(page=page).exists():
        raise Conflict(_("A restricted page cannot be shared by link."), code="restricted")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(page=page, token_digest=digest_of(token), created_by=user, expires_at=expires_at)
    audit.record("library.shared", actor=user, subject=str(page.pk), link=link.pk)
    return link, token


def revoke(link: ShareLink, user: User) -> None:
    if link.revoked_at is None:
        link.revoked_at = clock.now()
        link.save(update_fields=["revoked_at"])
        audit.record("library.unshared", actor=user, subject=str(link.page_id), link=link.pk)


def opened(token: str) -> Page | None:
    """The live page behind a token, or None: unknown, revoked, expired, disabled, trashed, restricted and not
    approved look the same."""
    alive = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    links = ShareLink.objects.filter(alive, token_digest=digest_of(token[:200]), revoked_at=None)
    page_id = links.values_list("page_id", flat=True).first()
    page = (
        Page.objects.there().live().with_type().select_related("space").filter(pk=page_id).first() if page_id else None
    )
    return page if page and _is_on(page.space.workspace_id) and viewer_sight(page.space).shows(page) else None


def _is_on(workspace_id: Any) -> bool:
    return WorkspaceFlag.objects.filter(workspace_id=workspace_id, name=SHARING_ENABLED, is_on=True).exists()
