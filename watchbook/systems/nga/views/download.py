"""Topics as files to take away: one topic, or the topics of a list as a zip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from watchbook.kit.formatting import number_text
from watchbook.kit.lists import Shown
from watchbook.systems.nga import filters, options
from watchbook.systems.nga.export.files import FORMS
from watchbook.systems.nga.export.responses import topic_file

ICONS = {"html": "globe", "markdown": "file", "epub": "library", "jsonl": "code"}


def titles() -> dict[str, str]:
    return {"html": _("HTML file"), "markdown": _("Markdown with pictures"), "epub": "EPUB", "jsonl": "JSON Lines"}


@dataclass(frozen=True)
class ZipLink:
    title: str
    icon: str
    query: str
    note: str


def zip_links(listing: Shown[Any]) -> list[ZipLink]:
    """For the export menu of a list: the topics themselves, one file each."""
    most = options.EXPORT_TOPICS.value
    note = ngettext("zip, up to %(n)s topic", "zip, up to %(n)s topics", most) % {"n": number_text(most)}
    return [ZipLink(title, ICONS[form], listing.query(zip=form), note) for form, title in titles().items()]


@require_GET
def topic(request: HttpRequest, tid: int, form: str) -> HttpResponseBase:
    if form not in FORMS:
        raise Http404
    return topic_file(request, filters.thread(tid, request.GET.get("fid")), form)
