"""Saves titles and texts with a version check, keeps the history and restores versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.systems.library.errors import VersionConflict, Wrong
from watchbook.systems.library.models import NodeType, Page, PageProperties, PageStatus, PageVersion
from watchbook.systems.library.models.pages import AUTOSAVED, TITLE_LENGTH
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.parse.merge import merge, merge_title, merged_text
from watchbook.systems.library.store import publish, references, together
from watchbook.systems.library.store.pages import clean_content, clean_title, fill_meta

# An autosave takes the place of the one before it, by the same person, when that was made this short a time ago …
JOIN = timedelta(minutes=10)
# … but a series ends after this long, so that a day of writing is more than one version.
LONGEST_SERIES = timedelta(hours=1)
# Longer texts are merged on the page of the conflict, where no lock is held.
MERGED_CHARACTERS = 400_000


@dataclass(frozen=True)
class Draft:
    """A clean title and content to save; None leaves the saved one. `text` are the words of the content."""

    title: str | None = None
    content: str | None = None
    text: str | None = None


def draft(title: str | None, content: str | None) -> Draft:
    """Return a clean draft. Call it before the space is locked: cleaning takes time."""
    kept = clean_content(content) if content is not None else None
    return Draft(clean_title(title) if title is not None else None, kept, None if kept is None else to_text(kept))


def save(page: Page, user: User, new: Draft, *, version: int, reason: str = "saved") -> bool:
    """Save a new version on top of `version`, merged with what others saved since. False if nothing differs.

    Raises VersionConflict if others changed the same words. With the reason AUTOSAVED it joins the series before it.
    Numbers increase anyway: writers name them.
    """
    if new.content is not None and page.node_type == NodeType.FOLDER:
        raise Wrong("content", _("A folder has no text of its own."))
    current = Page.objects.get(pk=page.pk)
    if current.version != version:
        new = _rebased(current, user, new, version)
        version = current.version
    kept = {
        "title": current.title if new.title is None else new.title,
        "content": current.content if new.content is None else new.content,
    }
    if all(getattr(current, name) == value for name, value in kept.items()):
        if reason != AUTOSAVED:
            _keep_version(current, reason)
        return False
    last = _keep_first(current)
    now = clock.now()
    written = Page.objects.filter(pk=page.pk, version=version, deleted_at=None).update(
        **kept, version=version + 1, updated_by=user, updated_at=now
    )
    if not written:
        raise _conflict(page, version, new.title, new.content)
    series_at = _join(last, user, now) if reason == AUTOSAVED else None
    PageVersion.objects.create(
        page=page, number=version + 1, author=user, reason=reason, created_at=now, series_at=series_at, **kept
    )
    page.title, page.content, page.version = kept["title"], kept["content"], version + 1
    page.updated_by, page.updated_at = user, now
    fill_meta(page)
    # What was approved is the version before.
    PageProperties.objects.filter(page=page, status=PageStatus.APPROVED).update(status=PageStatus.DRAFT)
    references.record_saved(page, user)
    publish.put([page], {page.pk: new.text} if new.text is not None else None)
    if page.node_type == NodeType.FILE:
        publish.record_saved([page], user)
        together.notify_saved(page, user)
        together.notify_mentioned(page, user, current.content, page.content)
    return True


def is_sent_again(page: Page, user: User, version: int, until: int | None = None) -> bool:
    """True if the user saved on top of `version`: then words may come again, because the answer was lost."""
    rows = PageVersion.objects.filter(page=page, number__gt=version, author=user)
    return (rows if until is None else rows.filter(number__lte=until)).exists()


def _rebased(current: Page, user: User, new: Draft, version: int) -> Draft:
    """Return the draft with what others saved since `version`; raise VersionConflict if both changed the same words.

    What only one side changed is taken from it; a text that both changed is merged by blocks and words.
    """
    base = PageVersion.objects.filter(page=current, number=version).first()
    if base is not None:
        again = is_sent_again(current, user, version)
        given = base.title if new.title is None else new.title
        title, is_clash = merge_title(base.title, current.title, given, is_again=again)
        written = base.content if new.content is None else new.content
        content = _merged(base.content, current.content, written, is_again=again)
        if not is_clash and len(title) <= TITLE_LENGTH and content is not None:
            return Draft(title, content, new.text if content == new.content else to_text(content))
    raise _conflict(current, version, new.title, new.content)


def _merged(base: str, theirs: str, yours: str, *, is_again: bool) -> str | None:
    """Return the text with the changes of both, or None if that needs a choice."""
    if yours in (base, theirs):
        return theirs
    if theirs == base:
        return yours
    # On an empty page both wrote all of it. A long text would be compared while the space is locked.
    if not base or max(map(len, (base, theirs, yours))) > MERGED_CHARACTERS:
        return None
    parts = merge(base, theirs, yours, is_again=is_again)
    return None if any(part.is_conflict for part in parts) else merged_text(parts, {})


def restore_version(page: Page, user: User, number: int) -> bool:
    """Save an old version as the newest version. The history keeps the replaced one."""
    old = PageVersion.objects.get(page=page, number=number)
    content = None if page.node_type == NodeType.FOLDER else old.content
    version = Page.objects.values_list("version", flat=True).get(pk=page.pk)
    return save(page, user, Draft(old.title, content), version=version, reason="restored")


def _join(last: PageVersion, user: User, now: datetime) -> datetime:
    """Return the start of the series that an autosave belongs to, and hide the previous step from the history."""
    begun = last.series_at
    if (
        begun is None or last.reason != AUTOSAVED or last.author_id != user.pk
        or now - last.created_at > JOIN or now - begun > LONGEST_SERIES
    ):  # fmt: skip
        return now
    last.joined_at = now
    last.save(update_fields=["joined_at"])
    return begun


def _keep_version(current: Page, reason: str) -> None:
    """Turn the last autosave into a version that no later autosave replaces."""
    last = PageVersion.objects.filter(page=current, number=current.version, reason=AUTOSAVED)
    last.update(reason=reason, series_at=None)


def _keep_first(current: Page) -> PageVersion:
    """Write a version row for a page that is older than the history, before it changes."""
    return PageVersion.objects.get_or_create(
        page=current,
        number=current.version,
        defaults={
            "title": current.title, "content": current.content, "author_id": current.updated_by_id,
            "reason": "created", "created_at": current.updated_at,
        },
    )[0]  # fmt: skip


def _conflict(page: Page, version: int, title: str | None, content: str | None) -> VersionConflict:
    """Return both texts and their common base."""
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
