"""Sends the content of blobs to a browser: whole, a part of it, or the word that it has not changed.

Only what was found to be a picture, video or sound is shown inline. Everything else is a download, and every response
says that the browser must not guess a type, run a script or load anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified, StreamingHttpResponse
from django.utils.http import content_disposition_header

from watchbook.base.store import blobs

POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
# Content never changes; who may see it can.
CACHE = "private, max-age=3600"
PLAYED = frozenset({"video/mp4", "video/webm", "video/quicktime", "audio/mpeg", "audio/mp4", "audio/ogg"})
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


@dataclass(frozen=True)
class Content:
    """A blob as a response. `is_picture`: it was opened as a picture, so that a browser may show it."""

    sha256: str
    media_type: str
    size: int
    name: str
    is_picture: bool = False

    @property
    def is_inline(self) -> bool:
        return self.is_picture or self.media_type in PLAYED

    @property
    def sent_type(self) -> str:
        """Markup and pictures that could not be opened are bytes to the browser."""
        if self.is_picture or not self.media_type.startswith(("image/", "text/")):
            return self.media_type
        return "text/plain; charset=utf-8" if self.media_type == "text/plain" else "application/octet-stream"


def send(request: HttpRequest, content: Content) -> HttpResponseBase:
    """Return the response. Raises BlobError before it begins when the content is missing."""
    tag = f'"{content.sha256[:32]}"'
    response = _response(request, content, tag)
    shown = content_disposition_header(not content.is_inline, content.name)
    response.headers["Content-Disposition"] = shown or "inline"
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = CACHE
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Accept-Ranges"] = "bytes"
    return response


def _response(request: HttpRequest, content: Content, tag: str) -> HttpResponseBase:
    if tag in request.headers.get("If-None-Match", ""):
        return HttpResponseNotModified()
    start, stop = 0, content.size
    wanted = _RANGE.fullmatch(request.headers.get("Range", ""))
    if wanted and request.headers.get("If-Range", tag) == tag:
        start, stop = _part(wanted[1], wanted[2], content.size)
        if start >= stop:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{content.size}"})
    is_part = (start, stop) != (0, content.size)
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(content_type=content.sent_type)
    else:
        chunks = blobs.part(content.sha256, start, stop) if is_part else blobs.stream(content.sha256)
        response = StreamingHttpResponse(_begun(chunks), content_type=content.sent_type)
    response.headers["Content-Length"] = str(stop - start)
    if is_part:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{content.size}"
    return response


def _part(first: str, last: str, size: int) -> tuple[int, int]:
    """Start and end of a range; the end is not included. `-500` means the last 500 bytes."""
    if not first:
        return (max(size - int(last), 0), size) if last else (0, size)
    return int(first), min(int(last) + 1, size) if last else size


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Return the chunks; a missing blob is found before the response begins."""
    first = next(chunks, b"")

    def rest() -> Iterator[bytes]:
        yield first
        yield from chunks

    return rest()
