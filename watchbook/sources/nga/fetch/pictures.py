"""Fetching a picture, and telling by its first bytes whether it is one: shields send pages under such names."""

from __future__ import annotations

from watchbook.base.web import client
from watchbook.base.web.errors import BadAnswer
from watchbook.sources.nga import options

DEADLINE_SECONDS = 60.0
SPACING_SECONDS = 1.0


def fetch_picture(url: str) -> tuple[bytes, str]:
    """The bytes and their format. Raises a WebError, also when they are no picture."""
    answer = client.get(
        url,
        headers={"Referer": options.BASE_URL.value + "/"},
        max_bytes=options.MEDIA_MEGABYTES.value * 1_000_000,
        deadline_seconds=DEADLINE_SECONDS,
        spacing_seconds=SPACING_SECONDS,
    )
    found = picture_format(answer.body)
    if not found or not answer.is_complete:
        raise BadAnswer("no picture by its first bytes", answer=answer)
    return answer.body, found


def picture_format(body: bytes) -> str:
    """jpeg, png, gif or webp; empty for anything else."""
    starts = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n", "gif": b"GIF8"}
    for name, start in starts.items():
        if body.startswith(start):
            return name
    return "webp" if body[:4] == b"RIFF" and body[8:12] == b"WEBP" else ""
