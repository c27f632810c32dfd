"""What operators start: a crawl, an audit, a repair, the reading of one topic. Each is a run in the queue."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.sources.nga import actions, finding
from watchbook.sources.nga.finding import boards
from watchbook.sources.nga.paths import path
from watchbook.sources.nga.views.head import chosen


@staff_required
@require_POST
def crawl(request: HttpRequest) -> HttpResponse:
    forum = chosen(boards(), _fid(request.POST.get("fid", "")))
    _say(request, actions.crawl_soon(forum.source_forum_id if forum else None, request=request))
    return redirect("nga:topics")


@staff_required
@require_POST
def audit_now(request: HttpRequest) -> HttpResponse:
    _say(request, actions.audit_soon(repair=False, request=request))
    return redirect("nga:audits")


@staff_required
@require_POST
def repair_now(request: HttpRequest) -> HttpResponse:
    _say(request, actions.audit_soon(repair=True, request=request))
    return redirect("nga:audits")


@staff_required
@require_POST
def read_topic(request: HttpRequest, tid: int) -> HttpResponse:
    thread = finding.thread(tid, request.GET.get("fid"))
    _say(request, actions.read_soon(thread, request=request))
    return redirect(path(thread))


def _fid(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None


def _say(request: HttpRequest, run: Any) -> None:
    if run is None:
        messages.info(request, _("It waits or runs already."))
        return
    messages.success(request, _("It is in the queue."))
