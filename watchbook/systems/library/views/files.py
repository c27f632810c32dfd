"""Attachments: upload, content, thumbnails, and removal from a folder."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from watchbook.systems.library import actions
from watchbook.systems.library.content import as_json, send
from watchbook.systems.library.errors import Problem, Wrong
from watchbook.systems.library.models import Attachment
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, done, given, reader


@require_POST
def upload(request: HttpRequest, page_id: UUID) -> HttpResponseBase:
    """Keep the file of the field `file`. Scripts get JSON; the form of a folder (`form=1`) gets its page again."""
    if given(request, "form"):
        return _upload_form(request, page_id)
    try:
        return JsonResponse(as_json(_upload(request, page_id)), status=201)
    except Problem as problem:
        return JsonResponse({"error": {"code": problem.code, "message": problem.message}}, status=problem.status)


@answers
def _upload_form(request: HttpRequest, page_id: UUID) -> HttpResponseBase:
    made = _upload(request, page_id)
    return done(request, page_path(page_id), _("%(name)s was uploaded.") % {"name": made.name})


def _upload(request: HttpRequest, page_id: UUID) -> Attachment:
    actions.open_page(reader(request), page_id)
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise Wrong("file", _("Choose a file."))
    return actions.upload(reader(request), page_id, file.chunks(), str(file.name or ""))


@require_POST
@answers
def remove(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    found = actions.open_attachment(reader(request), file_id)
    actions.remove_attachment(reader(request), file_id)
    words = _("%(name)s was removed. Pages that show it keep it.") % {"name": found.name}
    return done(request, page_path(found.home_id) if found.home_id else "/library/", words)


@require_safe
@answers
def content(request: HttpRequest, file_id: UUID, file_name: str) -> HttpResponseBase:
    """The content of an attachment, or with `size` a thumbnail. The name in the address is only for people."""
    return send(request, actions.open_attachment(reader(request), file_id))


@login_not_required  # the token in the address is the proof
@require_safe
def shared_content(request: HttpRequest, token: str, file_id: UUID, file_name: str) -> HttpResponseBase:
    try:
        response = send(request, actions.open_shared(token, file_id))
    except Problem:
        raise Http404 from None
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
