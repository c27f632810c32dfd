"""A picture that is kept here, by its digest."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from watchbook.sources.nga.models import MediaAsset
from watchbook.sources.nga.store.media import media_file

# Told by their first bytes when they were stored; anything else is not sent as a picture.
FORMATS = frozenset({"jpeg", "png", "gif", "webp"})


@require_safe
def picture(request: HttpRequest, digest: str) -> HttpResponseBase:
    asset = get_object_or_404(MediaAsset, content_sha256=digest[:64])
    file = media_file(asset.content_sha256)
    if asset.media_format_text not in FORMATS or not file.is_file():
        raise Http404
    answer = FileResponse(file.open("rb"), content_type=f"image/{asset.media_format_text}")
    # What a digest names never changes; who may see it is decided here and nowhere in between.
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer
