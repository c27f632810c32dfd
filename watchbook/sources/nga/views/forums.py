"""The boards that are archived, how politely each is asked, and a new one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.sources.nga import actions
from watchbook.sources.nga.actions import WrongForum
from watchbook.sources.nga.forms import AddForumForm, PaceForm
from watchbook.sources.nga.models import CrawlRun, Forum, Thread
from watchbook.sources.nga.views.head import head


@dataclass(frozen=True)
class Row:
    forum: Forum
    topics: int
    last_at: datetime | None


@require_GET
def forums(request: HttpRequest) -> HttpResponse:
    return _show(request, AddForumForm())


@staff_required
@require_POST
def add_forum(request: HttpRequest) -> HttpResponse:
    form = AddForumForm(request.POST)
    if form.is_valid():
        try:
            actions.add_forum(form.cleaned_data["fid"], form.cleaned_data["name"], request=request)
        except WrongForum as error:
            form.add_error("fid", error.message)
        else:
            messages.success(request, _("Added. The next run reads it; Crawl now reads it at once."))
            return redirect("nga:forums")
    return _show(request, form, status=422)


@staff_required
@require_http_methods(["GET", "POST"])
def edit_forum(request: HttpRequest, pk: int) -> HttpResponse:
    forum = get_object_or_404(Forum, pk=pk)
    names = ("crawl_page_limit", "request_rate_limit_per_sec")
    start = {"name": forum.forum_name or "", **{name: getattr(forum, name) for name in names}}
    form = PaceForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_forum(forum, **form.cleaned_data, request=request)
        except WrongForum as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, _("Saved."))
            return redirect("nga:forums")
    shown = head(request, "forums", forum.source_forum_id)
    return render(request, "nga/forum.html", {**shown, "form": form}, status=422 if form.errors else 200)


def _show(request: HttpRequest, form: AddForumForm, status: int = 200) -> HttpResponse:
    shown = head(request, "forums")
    return render(request, "nga/forums.html", {**shown, "rows": _rows(shown["forums"]), "form": form}, status=status)


def _rows(found: list[Forum]) -> list[Row]:
    topics = dict(Thread.objects.order_by().values("forum_id").annotate(n=Count("pk")).values_list("forum_id", "n"))
    ended = CrawlRun.objects.filter(run_finished_at__isnull=False).order_by().values("forum_id")
    last = dict(ended.annotate(at=Max("run_finished_at")).values_list("forum_id", "at"))
    return [Row(forum, topics.get(forum.pk, 0), last.get(forum.pk)) for forum in found]
