"""Pages that users read for the library: the newest reading of each, and its pictures in the store of kept files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction

from watchbook.base.web.address import check_url
from watchbook.base.web.errors import Refused
from watchbook.core.accounts.models import User
from watchbook.core.media import store as media
from watchbook.systems.pages.models import WebClip, url_digest
from watchbook.systems.pages.parse import Article
from watchbook.systems.pages.store.pages import SOURCE, pack

KIND = "web_clip"
MOST_PICTURES = 100


@transaction.atomic
def store_clip(user: User, url: str, article: Article, *, now: datetime) -> WebClip:
    """Keep what an address says now in the place of the reading before; its pictures are wanted from now on."""
    values = {
        "url": url, "title": article.title, "html": pack(article.html, None), "text": pack(article.text, None),
        "version": article.digest, "read_at": now,
    }  # fmt: skip
    made, _is_new = WebClip.objects.update_or_create(user=user, url_digest=url_digest(url), defaults=values)
    media.want(SOURCE, _pictures(made, article))
    return made


def _pictures(made: WebClip, article: Article) -> list[media.Wanted]:
    """Its pictures, named by the address in the text; one whose address is not allowed stays a link."""
    wanted = []
    for position, address in enumerate(article.pictures[:MOST_PICTURES]):
        try:
            url = check_url(address).url
        except Refused:
            continue
        wanted.append(media.Wanted(url, object_of(made.pk), position, key=address, referer=article.url[:500]))
    return wanted


def object_of(pk: int) -> str:
    """The id of a reading among the kept files."""
    return f"clip-{pk}"


def visible(user: User, object_ids: Collection[str]) -> list[str]:
    """Return those of the objects that are readings of this user."""
    numbers = [int(name[5:]) for name in object_ids if name.startswith("clip-") and name[5:].isdecimal()]
    return [object_of(pk) for pk in WebClip.objects.filter(user=user, pk__in=numbers).values_list("pk", flat=True)]


def delete_clips(ids: Sequence[int]) -> int:
    """Delete readings and the pictures that nothing else shows. What the library saved stays there."""
    media.release(SOURCE, [object_of(pk) for pk in ids])
    return WebClip.objects.filter(pk__in=ids).delete()[0]
