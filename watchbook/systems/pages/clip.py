"""Pages of the web as pages of the library: the newest version of a watched page, and any address that a user saves."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from watchbook.base import clock, sandbox
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts import access
from watchbook.core.accounts.models import User
from watchbook.core.media.jobs import fetch_now
from watchbook.core.stream.clip import Clip, ClipError
from watchbook.systems.pages.fetch import fetch_article
from watchbook.systems.pages.models import Page, WebClip, url_digest
from watchbook.systems.pages.store.clips import KIND as CLIP_KIND
from watchbook.systems.pages.store.clips import object_of, store_clip
from watchbook.systems.pages.store.pages import KIND, SOURCE, newest, unpack

READINGS, READING_SECONDS = 60, 600
# While a user waits: pictures of one page, and the time for all of them. Other pictures stay links to the site.
MOST_PICTURES, PICTURE_SECONDS = 30, 15.0


def clip(kind: str, object_id: str, user: User) -> Clip | None:
    """Return the clip, or None if the page is unknown or not visible to this user."""
    if kind not in (KIND, CLIP_KIND) or not object_id.isascii() or not object_id.isdigit() or len(object_id) > 18:
        return None
    if kind == CLIP_KIND:
        saved = WebClip.objects.filter(user=user, pk=int(object_id)).first()
        return _clip_of(saved) if saved else None
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


def _clip_of(saved: WebClip) -> Clip:
    return Clip(
        kind=CLIP_KIND, id=str(saved.pk), source=SOURCE, title=saved.title, html=unpack(bytes(saved.html), None),
        text=unpack(bytes(saved.text), None), source_link=saved.url, source_at=saved.read_at, version=saved.version,
    )  # fmt: skip


def read(url: str, user: User) -> Clip:
    """Read an address for the library, with its pictures, within the limits of a user who waits."""
    if not access.allow_use("web-clip", str(user.pk), most=READINGS, seconds=READING_SECONDS):
        raise ClipError(_("Too many pages in a short time. Try again in 10 minutes."), "too_many")
    try:
        article = fetch_article(url)
    except (WebError, sandbox.TaskError) as error:
        raise ClipError(_(error.message), error.code) from error
    saved = store_clip(user, check_url(url).url, article, now=clock.now())
    fetch_now(SOURCE, object_of(saved.pk), most=MOST_PICTURES, seconds=PICTURE_SECONDS)
    return _clip_of(saved)


def page_titles(urls: Collection[str], user: User) -> dict[str, str]:
    """Return the titles of those of these pages that were read for this user."""
    wanted = {url_digest(url): url for url in urls}
    rows = Page.objects.of(user).filter(url_digest__in=list(wanted)).exclude(title="")
    return {wanted[digest]: title for digest, title in rows.values_list("url_digest", "title")}
