"""Pictures of floors: which ones there are, and the files, stored once by what is in them."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db.models import F

from watchbook.base.work import crash_point
from watchbook.systems.nga.models import MediaAsset, Post, PostMediaMap
from watchbook.systems.nga.store.versions import fit_summary

MOST_ATTEMPTS = 3
LONGEST_URL = 1000
PICTURES_PER_FLOOR = 200
# Smilies are the site's own drawings, the same under a million posts.
SMILEY = "bb-smiley"
_IMAGE = re.compile(r"<img\b([^<>]*)>")
_SOURCE = re.compile(r'\bsrc="(https?://[^"]+)"')


def pictures_of(content_html: str) -> list[str]:
    """Addresses of the pictures in our own clean HTML, each once."""
    found = (
        html.unescape(hit[1])
        for tag in _IMAGE.findall(content_html)
        if SMILEY not in tag and (hit := _SOURCE.search(tag))
    )
    return [url for url in dict.fromkeys(found) if len(url) <= LONGEST_URL][:PICTURES_PER_FLOOR]


def add_pictures(posts: Iterable[Post], now: datetime) -> int:
    """Rows for pictures that are not known yet; those that left a post stay."""
    rows = [
        PostMediaMap(post_id=post.pk, source_url=url, source_url_sha256=digest(url), created_at=now)
        for post in posts
        for url in pictures_of(post.content_html)
    ]
    PostMediaMap.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)


def known_asset(url_digest: str) -> MediaAsset | None:
    """The file of this very address, fetched for another floor."""
    same = PostMediaMap.objects.filter(source_url_sha256=url_digest).exclude(media_asset=None)
    row = same.select_related("media_asset").first()
    return row.media_asset if row else None


def write_file(body: bytes) -> str:
    """Write the bytes under their digest and give it. Before the row: a crash leaves at worst a file without one."""
    name = sha256(body).hexdigest()
    target = media_file(name)
    if target.exists():
        return name
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".draft-{uuid4().hex}")
    with draft.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(target)
    crash_point("nga.picture_kept")
    return name


def store_asset(name: str, media_format: str, size: int, now: datetime) -> MediaAsset:
    asset, _ = MediaAsset.objects.get_or_create(
        content_sha256=name, defaults={"media_format_text": media_format, "byte_count": size, "created_at": now}
    )
    return asset


def attach(url_digest: str, asset: MediaAsset, now: datetime) -> None:
    """Every floor that shows this address has its file now."""
    rows = PostMediaMap.objects.filter(source_url_sha256=url_digest)
    rows.update(media_asset=asset, attempt_count=F("attempt_count") + 1, last_attempted_at=now, error_summary=None)


def record_failure(url_digest: str, summary: str, now: datetime) -> None:
    PostMediaMap.objects.filter(source_url_sha256=url_digest, media_asset=None).update(
        attempt_count=F("attempt_count") + 1, last_attempted_at=now, error_summary=fit_summary(summary)
    )


def media_file(name: str) -> Path:
    return Path(settings.HOME) / "media" / "nga" / name[:2] / name


def digest(url: str) -> str:
    return sha256(url.encode()).hexdigest()
