"""The newest version of a page as a page of the library."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.html import format_html, format_html_join

from watchbook.core.accounts.models import User
from watchbook.core.stream.clip import Clip
from watchbook.systems.pages.models import Page, url_digest
from watchbook.systems.pages.store.pages import KIND
from watchbook.systems.pages.store.texts import newest


def clip(kind: str, object_id: str, user: User) -> Clip | None:
    """Return the clip, or None if the page is unknown or not visible to this user."""
    if kind != KIND or not object_id.isascii() or not object_id.isdigit() or len(object_id) > 18:
        return None
    page = Page.objects.of(user).filter(pk=int(object_id)).first()
    if page is None:
        return None
    version, text = newest(page)
    description = version.fields.get("description", "") if version else ""
    paragraphs = [(line,) for line in text.split("\n") if line]
    return Clip(
        kind=KIND,
        id=object_id,
        source="pages",
        title=page.title or page.path,
        html=format_html("<p>{}</p>{}", description, format_html_join("", "<p>{}</p>", paragraphs)),
        text=text,
        source_link=page.url,
        source_at=version.read_at if version else None,
        version=str(version.number if version else ""),
    )


def page_titles(urls: Collection[str], user: User) -> dict[str, str]:
    """Return the titles of those of these pages that were read for this user."""
    wanted = {url_digest(url): url for url in urls}
    rows = Page.objects.of(user).filter(url_digest__in=list(wanted)).exclude(title="")
    return {wanted[digest]: title for digest, title in rows.values_list("url_digest", "title")}
