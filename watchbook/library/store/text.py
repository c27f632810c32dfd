"""Saving a title or text with a check of the version, the history behind it, and going back. Nothing is overwritten."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.library.errors import VersionConflict, Wrong
from watchbook.library.models import NodeType, Page, PageVersion
from watchbook.library.models.pages import AUTOSAVED
from watchbook.library.store import news
from watchbook.library.store.pages import clean_content, clean_title, fill_meta

# An autosave takes the place of the one before it, by the same person, when that was made this short a time ago …
JOIN = timedelta(minutes=10)
# … but a series ends after this long, so that a day of writing is more than one version.
LONGEST_SERIES = timedelta(hours=1)


def save(page: Page, user: Any, *, version: int, title: str | None, content: str | None, reason: str = "saved") -> bool:
    """A new version on top of `version`. False when nothing differs; VersionConflict when somebody was first.

    With the reason AUTOSAVED it joins the series before it. Numbers go on all the same: they are what a writer names.
    """
    if content is not None and page.node_type == NodeType.FOLDER:
        raise Wrong("content", _("A folder has no text of its own."))
    new_title = clean_title(title) if title is not None else None
    new_content = clean_content(content) if content is not None else None
    current = Page.objects.get(pk=page.pk)
    kept = {
        "title": current.title if new_title is None else new_title,
        "content": current.content if new_content is None else new_content,
    }
    if current.version != version:
        raise _conflict(page, version, new_title, new_content)
    if all(getattr(current, name) == value for name, value in kept.items()):
        if reason != AUTOSAVED:
            _keep_for_good(current, reason)
        return False
    last = _keep_first(current)
    now = clock.now()
    written = Page.objects.filter(pk=page.pk, version=version, deleted_at=None).update(
        **kept, version=version + 1, updated_by=user, updated_at=now
    )
    if not written:
        raise _conflict(page, version, new_title, new_content)
    series_at = _join(last, user, now) if reason == AUTOSAVED else None
    PageVersion.objects.create(
        page=page, number=version + 1, author=user, reason=reason, created_at=now, series_at=series_at, **kept
    )
    page.title, page.content, page.version = kept["title"], kept["content"], version + 1
    page.updated_by, page.updated_at = user, now
    fill_meta(page)
    news.put([page])
    if page.node_type == NodeType.FILE:
        news.tell([page], user)
    return True


def restore_version(page: Page, user: Any, number: int) -> bool:
    """An old version becomes the newest one; what was there stays in the history."""
    old = PageVersion.objects.get(page=page, number=number)
    content = None if page.node_type == NodeType.FOLDER else old.content
    version = Page.objects.values_list("version", flat=True).get(pk=page.pk)
    return save(page, user, version=version, title=old.title, content=content, reason="restored")


def _join(last: PageVersion, user: Any, now: datetime) -> datetime:
    """When the series began that an autosave belongs to; the step before it leaves the history."""
    begun = last.series_at
    if (
        begun is None or last.reason != AUTOSAVED or last.author_id != user.pk
        or now - last.created_at > JOIN or now - begun > LONGEST_SERIES
    ):  # fmt: skip
        return now
    last.joined_at = now
    last.save(update_fields=["joined_at"])
    return begun


def _keep_for_good(current: Page, reason: str) -> None:
    """Somebody saves what was saved by itself a moment ago: no later autosave takes its place."""
    last = PageVersion.objects.filter(page=current, number=current.version, reason=AUTOSAVED)
    last.update(reason=reason, series_at=None)


def _keep_first(current: Page) -> PageVersion:
    """A page from before the history has no row for what it says now: write it before it is changed."""
    return PageVersion.objects.get_or_create(
        page=current,
        number=current.version,
        defaults={
            "title": current.title, "content": current.content, "author_id": current.updated_by_id,
            "reason": "created", "created_at": current.updated_at,
        },
    )[0]  # fmt: skip


def _conflict(page: Page, version: int, title: str | None, content: str | None) -> VersionConflict:
    """Both texts and the one both began with: whoever sees this can put them together."""
    current = Page.objects.select_related("updated_by").get(pk=page.pk)
    base = PageVersion.objects.filter(page=page, number=version).first()
    return VersionConflict(
        details={
            "current": {
                "version": current.version, "title": current.title, "content": current.content,
                "updated_at": current.updated_at.isoformat(),
                "updated_by": current.updated_by.email if current.updated_by else None,
            },
            "yours": {"version": version, "title": title, "content": content},
            "base": {"version": version, "title": base.title, "content": base.content} if base else None,
        }
    )  # fmt: skip
