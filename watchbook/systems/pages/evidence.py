"""Files of a version: what was sent and received, and its screenshot. Page and API send the same ones."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404

from watchbook.base.store import blobs
from watchbook.kit.content import Content
from watchbook.kit.content import send as send_content
from watchbook.systems.pages.models import Page, PageEvidence, PageShot
from watchbook.systems.pages.store.evidence import packed

FORMS = {"warc": ("warc.gz", "application/warc"), "wacz": ("wacz", "application/wacz")}

SHOWN = ("picture", "difference")


def send(page: Page, number: int, form: str) -> HttpResponseBase:
    """The file of one version as a download; number 0 is the answer that decided what became of a URL.

    404 if nothing was kept.
    """
    if form not in FORMS or number > 2**31 - 1:
        raise Http404
    evidence = get_object_or_404(PageEvidence.objects.select_related("page"), page=page, number=number)
    ending, media_type = FORMS[form]
    try:
        with packed(evidence, form) as path:
            # The open file stays readable when its folder is removed.
            file = path.open("rb")
    except blobs.BlobError:
        raise Http404 from None
    name = f"page-{page.pk}-version-{number}.{ending}"
    return FileResponse(file, as_attachment=True, filename=name, content_type=media_type)


def send_shot(request: HttpRequest, page: Page, number: int, show: str) -> HttpResponseBase:
    """The screenshot of one version, or what differs from the one before. 404 if there is none."""
    if show not in SHOWN or number > 2**31 - 1:
        raise Http404
    shot = get_object_or_404(PageShot, page=page, number=number)
    is_whole = show == "picture"
    digest, size = (shot.sha256, shot.size) if is_whole else (shot.difference, shot.difference_size)
    if not digest:
        raise Http404
    name = f"page-{page.pk}-version-{number}-{show}.png"
    try:
        return send_content(request, Content(digest, "image/png", size, name, is_picture=True))
    except blobs.BlobError:
        raise Http404 from None
