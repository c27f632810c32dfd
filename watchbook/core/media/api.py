"""The endpoint for kept files."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router

from watchbook.core.api.shell import sends_file
from watchbook.core.media.views import content as send_content

router = Router()


@router.get(
    "/media/{int:media_id}", openapi_extra=sends_file("application/octet-stream", "The bytes of the file, or a part.")
)
def content(request: HttpRequest, media_id: int) -> HttpResponseBase:
    """Download a kept picture, video or attachment of an item. A `Range` header gets a part of the file."""
    response = send_content(request, media_id)
    response.headers["Content-Type"] = "application/octet-stream"
    return response
