"""Files of topics as responses; every export is in the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.core.accounts import audit
from watchbook.kit.lists import Shown
from watchbook.kit.lists.exports import file_name
from watchbook.systems.nga import options
from watchbook.systems.nga.export.files import FORMS, stem
from watchbook.systems.nga.export.zips import zip_pieces
from watchbook.systems.nga.models import Thread

R = TypeVar("R", bound=HttpResponseBase)


def topic_file(request: HttpRequest, thread: Thread, form: str) -> FileResponse:
    name = f"{stem(thread)}.{FORMS[form].ending}"
    with scratch("export") as folder:
        FORMS[form].write(thread, folder / "topic")
        # Opened before the folder goes: the file lives on until the answer is sent.
        file = (folder / "topic").open("rb")
    audit.record("export.made", subject=name[:200], request=request)
    response = FileResponse(file, as_attachment=True, filename=name, content_type=FORMS[form].media_type)
    return _private(response)


def topics_zip(request: HttpRequest, listing: Shown[Any], form: str) -> StreamingHttpResponse | None:
    """The topics of a list as a zip if its address asks for one (`zip=`)."""
    if form not in FORMS:
        return None
    now = clock.now()
    name = file_name(f"topics-{form}", "zip", now)
    words = [f"{title}: {value}" for title, value in listing.about]
    audit.record("export.made", subject=name, request=request, filters=words)

    def threads() -> Iterator[Thread]:
        seen = set()
        for row in listing.prepared():
            # A search may find many posts of one topic.
            if row.thread.pk not in seen:
                seen.add(row.thread.pk)
                yield row.thread

    about = {"exported_at": now, "filters": words}
    pieces = zip_pieces(threads(), form, most=options.EXPORT_TOPICS.value, about=about)
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return _private(response)


def _private(response: R) -> R:
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
