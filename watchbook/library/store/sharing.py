"""Read-only links. The token is shown once, its digest is kept. The link of a trashed page sleeps, it is not lost."""

from __future__ import annotations

import secrets
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.library.errors import Conflict
from watchbook.library.models import SHARING_ENABLED, Page, ShareLink, WorkspaceFlag

TOKEN_BYTES = 32


def digest_of(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def share(page: Page, user: Any, expires_at: datetime | None) -> tuple[ShareLink, str]:
    """A new link and its token, the only time it is known."""
    if not _is_on(page.space.workspace_id):
        raise Conflict(_("Sharing is switched off in this workspace."), code="sharing_disabled")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(page=page, token_digest=digest_of(token), created_by=user, expires_at=expires_at)
    audit.record("library.shared", actor=user, subject=str(page.pk), link=link.pk)
    return link, token


def revoke(link: ShareLink, user: Any) -> None:
    if link.revoked_at is None:
        link.revoked_at = clock.now()
        link.save(update_fields=["revoked_at"])
        audit.record("library.unshared", actor=user, subject=str(link.page_id), link=link.pk)


def opened(token: str) -> Page | None:
    """The live page behind a token, or None: unknown, revoked, expired, switched off and trashed look the same."""
    alive = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    links = ShareLink.objects.filter(alive, token_digest=digest_of(token[:200]), revoked_at=None)
    page_id = links.values_list("page_id", flat=True).first()
    page = (
        Page.objects.there().live().with_type().select_related("space").filter(pk=page_id).first() if page_id else None
    )
    return page if page and _is_on(page.space.workspace_id) else None


def _is_on(workspace_id: Any) -> bool:
    return WorkspaceFlag.objects.filter(workspace_id=workspace_id, name=SHARING_ENABLED, is_on=True).exists()
