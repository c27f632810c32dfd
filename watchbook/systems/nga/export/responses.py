"""Files of topics as responses; every export is in the audit log.

Many topics as one zip, written while it is sent.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from io import RawIOBase
from typing import Any, TypeVar

from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from watchbook.base import clock
from watchbook.base.store.folder import scratch
from watchbook.core.accounts import audit
from watchbook.kit.lists import Shown
from watchbook.kit.lists.exports import file_name, plain_value
from watchbook.systems.nga import options
from watchbook.systems.nga.export.files import FORMS, add_markdown, entry, stem
from watchbook.systems.nga.models import Thread


class _Pipe(RawIOBase):
    """Bytes on their way to a reader: cannot seek, and gives out what was written since the last time."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        found, self.parts = b"".join(self.parts), []
        return found


def zip_pieces(threads: Iterable[Thread], form: str, *, most: int | None, about: dict[str, Any]) -> Iterator[bytes]:
    """A zip of topics; `index.json` lists what it holds and counts what it leaves out."""
    pipe, left_out = _Pipe(), 0
    index: list[dict[str, Any]] = []
    names: set[str] = set()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for thread in threads:
            if most is not None and len(index) >= most:
                left_out += 1
                continue
            # Two boards can list one topic.
            name = stem(thread) if stem(thread) not in names else f"{stem(thread)}-{thread.pk}"
            names.add(name)
            index.append(_add(thread, form, archive, name))
            yield pipe.taken()
        said = {**about, "form": form, "left_out_topics": left_out, "topics": index}
        archive.writestr(entry("index.json"), json.dumps(said, ensure_ascii=False, indent=1, default=plain_value))
    yield pipe.taken()


def _add(thread: Thread, form: str, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if form == "markdown":
        written, name = add_markdown(thread, archive, f"{name}/"), f"{name}/topic.md"
    else:
        name = f"{name}.{FORMS[form].ending}"
        with scratch("export") as folder:
            written = FORMS[form].write(thread, folder / "topic")
            with (folder / "topic").open("rb") as file, archive.open(entry(name), "w", force_zip64=True) as out:
                while piece := file.read(1 << 16):
                    out.write(piece)
    return {"file": name, "fid": thread.forum.source_forum_id, **asdict(written)}


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
