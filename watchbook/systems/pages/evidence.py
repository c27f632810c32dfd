"""Downloads of what was sent and received with a version; page and API send the same file."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpResponseBase
from django.shortcuts import get_object_or_404

from watchbook.base.store import blobs
from watchbook.systems.pages.models import Page, PageEvidence
from watchbook.systems.pages.store.evidence import packed

FORMS = {"warc": ("warc.gz", "application/warc"), "wacz": ("wacz", "application/wacz")}


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
