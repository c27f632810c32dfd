"""Sends the content of attachments, for pages and API."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _

from watchbook.base.store import blobs
from watchbook.kit.content import Content
from watchbook.kit.content import send as send_content
from watchbook.systems.library import actions
from watchbook.systems.library.errors import NotFound
from watchbook.systems.library.models import Attachment
from watchbook.systems.library.store.publish import file_path


def as_json(attachment: Attachment) -> dict[str, Any]:
    return {
        "id": str(attachment.pk),
        "url": file_path(attachment),
        "name": attachment.name,
        "type": attachment.media_type,
        "size": attachment.size,
        "width": attachment.width,
        "height": attachment.height,
    }


def send(request: HttpRequest, attachment: Attachment) -> HttpResponseBase:
    digest, kind = attachment.sha256, attachment.media_type
    if "size" in request.GET:
        digest, kind = actions.thumbnail(attachment, request.GET["size"])
    try:
        size = attachment.size if digest == attachment.sha256 else blobs.size(digest)
        return send_content(request, Content(digest, kind, size, attachment.name, attachment.is_picture))
    except blobs.BlobError:
        raise NotFound(_("The content of this attachment is missing.")) from None
