"""The page that makes and revokes feed addresses, and the feeds themselves."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.core.stream import atom
from watchbook.core.stream import feeds as stream_feeds
from watchbook.sources.nga import feeds, finding
from watchbook.sources.nga.feeds import Subject
from watchbook.sources.nga.finding import boards
from watchbook.sources.nga.views.head import chosen


@never_cache
@require_http_methods(["GET", "POST"])
def forum_feed(request: HttpRequest, fid: str) -> HttpResponse:
    return _own(request, _board(fid))


@never_cache
@require_http_methods(["GET", "POST"])
def topic_feed(request: HttpRequest, tid: int) -> HttpResponse:
    return _own(request, Subject(thread=finding.thread(tid, request.GET.get("fid"))))


def _board(fid: str) -> Subject:
    if not fid.removeprefix("-").isdigit() or not fid.isascii() or len(fid) > 18:
        raise Http404
    return Subject(forum=chosen(boards(), int(fid)))


def _own(request: HttpRequest, subject: Subject) -> HttpResponse:
    """The addresses that work, and a new one; it is in this one answer and nowhere else."""
    context: dict[str, Any] = {"subject": subject}
    if request.method == "POST":
        if stream_feeds.of(request.user).count() >= stream_feeds.MOST:
            messages.error(request, _("You have %(n)s feeds. Revoke one first.") % {"n": stream_feeds.MOST})
            return redirect(request.path)
        context["address"] = feeds.make(request.user, subject, request)
    context["feeds"] = feeds.of(request.user, subject)
    return render(request, "nga/feed.html", context)


@require_POST
def revoke_feed(request: HttpRequest, pk: int) -> HttpResponse:
    mine = stream_feeds.of(request.user).filter(source=feeds.SOURCE)
    feed = get_object_or_404(mine, pk=pk)
    subject = feeds.subject_of(*feed.kind.split(":", 1))
    stream_feeds.revoke(feed, request=request)
    messages.success(request, _("Revoked. This address answers nothing any more."))
    return redirect(subject.own_page if subject else "nga:topics")


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, kind: str, number: str) -> HttpResponse:
    found = feeds.find(token, kind, number)
    if found is None:
        raise Http404
    subject, row = found
    return atom.answer(request, feeds.document(subject, token, row.user.language or "en"), atom.ATOM)
