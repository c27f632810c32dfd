"""Sends kept files to those who may see an item that shows them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import path
from django.views.decorators.http import require_safe

from watchbook.base.files import SIDES
from watchbook.base.store import blobs
from watchbook.core.accounts.access import person_of
from watchbook.core.media import store
from watchbook.kit.content import Content, send

SUFFIXES = {"image/jpeg": "jpg", "video/quicktime": "mov", "text/plain": "txt", "audio/mpeg": "mp3"}


@require_safe
def content(request: HttpRequest, media_id: int) -> HttpResponseBase:
    """The content of a kept file, or with `size` a thumbnail."""
    file = store.visible_file(person_of(request), media_id)
    wanted = request.GET.get("size", "")
    if file is None or (wanted and wanted not in map(str, SIDES)):
        raise Http404
    name = f"{file.pk}.{SUFFIXES.get(file.media_type) or file.media_type.rpartition('/')[2].partition('+')[0]}"
    try:
        if wanted and (small := store.thumbnail(file, int(wanted))):
            return send(request, Content(small, "image/webp", blobs.size(small), f"{file.pk}.webp", is_picture=True))
        return send(request, Content(file.sha256, file.media_type, file.size or 0, name, file.is_picture))
    except blobs.BlobError:
        raise Http404 from None


urlpatterns = [path("media/<int:media_id>", content, name="media-content")]
