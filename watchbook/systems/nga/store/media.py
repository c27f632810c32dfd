"""Files of posts: pictures, audio, videos and attachments, kept by core.media; and pictures from before it.

Who may see the files of posts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from watchbook.base.store import blobs
from watchbook.core.accounts.models import User
from watchbook.core.media.models import ATTACHMENT, PICTURE, VIDEO
from watchbook.core.media.store import Wanted, files_of, want
from watchbook.systems.nga import options
from watchbook.systems.nga.models import Post, PostMediaMap
from watchbook.systems.nga.store.publish import SOURCE

LONGEST_URL = 1000
FILES_PER_POST = 200
# Smilies are the site's own drawings, the same under a million posts.
SMILEY = "bb-smiley"
_TAG = re.compile(r"<(img|a)\b([^<>]*)>")
_ADDRESS = re.compile(r'\b(?:src|href)="(https?://[^"]+)"')
_VIDEO = re.compile(r"\.(?:mp4|m4v|mov|webm)\Z", re.IGNORECASE)
_FILE = re.compile(r"\.(?:mp3|m4a|aac|ogg|opus|wav|flac)\Z", re.IGNORECASE)
# Where the site keeps what users attach, on whichever host.
_ATTACHED = re.compile(r"\A/attachments/.+\.\w{1,8}\Z")
# Formats of pictures that were stored before.
OLD_FORMATS = frozenset({"jpeg", "png", "gif", "webp"})


@dataclass(frozen=True)
class Kept:
    """A file that is stored here: its address on the site, and its address here."""

    url: str
    path: str
    digest: str
    media_type: str
    is_picture: bool
    is_played: bool = False
    is_old: bool = False
    size: int = 0

    def exists(self) -> bool:
        return media_file(self.digest).is_file() if self.is_old else blobs.exists(self.digest)

    def read(self) -> bytes:
        return media_file(self.digest).read_bytes() if self.is_old else blobs.read(self.digest, limit=self.size)


def files_in(content_html: str) -> list[tuple[str, str]]:
    """Addresses and roles of the files in our own clean HTML, each once: pictures, players, attachments."""
    found: dict[str, str] = {}
    for tag, attributes in _TAG.findall(content_html):
        address = _ADDRESS.search(attributes)
        if address is None or SMILEY in attributes:
            continue
        url = html.unescape(address[1])
        role = PICTURE if tag == "img" else _role(url)
        if role and len(url) <= LONGEST_URL:
            found.setdefault(url, role)
    return list(found.items())[:FILES_PER_POST]


def _role(url: str) -> str:
    """A link to a file; empty: to a page."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    if _VIDEO.search(path):
        return VIDEO
    return ATTACHMENT if _FILE.search(path) or _ATTACHED.match(path) else ""


def want_files(posts: Iterable[Post]) -> int:
    """Queue the files of these posts; return how many were not known. Those that left a post stay."""
    referer = f"{options.BASE_URL.value}/"
    wanted = [
        Wanted(url, str(post.pk), position, role, referer=referer)
        for post in posts
        for position, (url, role) in enumerate(files_in(post.content_html))
    ]
    have = _kept_before({digest(each.url) for each in wanted})
    return want(SOURCE, [each for each in wanted if digest(each.url) not in have])


def _kept_before(digests: Collection[str]) -> set[str]:
    rows = PostMediaMap.objects.filter(source_url_sha256__in=list(digests), media_asset__isnull=False)
    return set(rows.values_list("source_url_sha256", flat=True))


def kept_files(post_ids: Collection[int]) -> dict[str, Kept]:
    """What is stored of the files of these posts, by the addresses on the site, in two queries."""
    found = {}
    old = PostMediaMap.objects.filter(post_id__in=list(post_ids), media_asset__isnull=False)
    columns = ("source_url", "media_asset__content_sha256", "media_asset__media_format_text")
    for url, name, form in old.values_list(*columns):
        found[url] = Kept(url, reverse("nga:picture", args=[name]), name, f"image/{form}", form in OLD_FORMATS,
                          is_old=True)  # fmt: skip
    for rows in files_of(SOURCE, post_ids).values():
        for file in (row.file for row in rows if row.file.is_kept):
            found[file.url] = Kept(file.url, file.path, file.sha256, file.media_type, file.is_picture,
                                   is_played=file.is_played, size=file.size or 0)  # fmt: skip
    return found


def media_file(name: str) -> Path:
    """A picture that was stored before core.media."""
    return Path(settings.HOME) / "media" / "nga" / name[:2] / name


def digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()


def visible_posts(user: User, post_ids: Collection[str]) -> list[str]:
    """Return which of these posts a user may see: the archive is for every member."""
    if not user.is_active:
        return []
    numbers = [int(each) for each in post_ids if each.isascii() and each.isdigit() and len(each) < 19]
    return [str(pk) for pk in Post.objects.filter(pk__in=numbers).values_list("pk", flat=True)]
