"""Pages of boards: add, rate limit, archive; their feeds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.access import person_of, safe_next, staff_required
from watchbook.core.stream import feeds as stream_feeds
from watchbook.core.stream import selection
from watchbook.systems.nga import actions, feeds, filters
from watchbook.systems.nga.actions import FASTEST, MOST_PAGE_LIMIT, SLOWEST, InvalidAuthor, InvalidTopic
from watchbook.systems.nga.feeds import Subject
from watchbook.systems.nga.filters import boards
from watchbook.systems.nga.models import CrawlRun, FollowedAuthor, FollowedThread, Forum, Thread
from watchbook.systems.nga.models.forum import path
from watchbook.systems.nga.views.page_header import chosen, head

AUTHORS_SHOWN = 200


class AddForumForm(forms.Form):
    fid = forms.IntegerField(
        label=gettext_lazy("Board number (fid)"),
        min_value=-(2**31) + 1,
        max_value=2**31 - 1,
        help_text=gettext_lazy("Part of the board's address: thread.php?fid=7. Some numbers are negative."),
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class ArchiveTopicForm(forms.Form):
    topic = forms.CharField(
        label=gettext_lazy("Topic number or address"),
        max_length=500,
        help_text=gettext_lazy("For example 40000123 or an address with tid=40000123. Its board need not be archived."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    follow = forms.BooleanField(label=gettext_lazy("Follow the topic until it is quiet"), required=False, initial=True)


class FollowAuthorForm(forms.Form):
    author = forms.CharField(
        label=gettext_lazy("Author number or address"),
        max_length=500,
        help_text=gettext_lazy("For example 12345 or an address with uid=12345."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    with_past = forms.BooleanField(label=gettext_lazy("Older topics, too"), required=False)


class PaceForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100, required=False)
    crawl_page_limit = forms.IntegerField(
        label=gettext_lazy("Pages per topic and run"),
        min_value=1,
        max_value=MOST_PAGE_LIMIT,
        help_text=gettext_lazy("Longer topics take several runs."),
    )
    request_rate_limit_per_sec = forms.DecimalField(
        label=gettext_lazy("Requests per second"),
        min_value=SLOWEST,
        max_value=FASTEST,
        max_digits=5,
        decimal_places=2,
        help_text=gettext_lazy("All workers together, at most 1."),
    )


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
    thread = filters.thread(tid, request.GET.get("fid"))
    _say(request, actions.read_soon(thread, request=request))
    return redirect(path(thread))


@staff_required
@require_POST
def archive_topic(request: HttpRequest) -> HttpResponse:
    """Queue a crawl of any topic, whether its board is archived or not."""
    form = ArchiveTopicForm(request.POST)
    if form.is_valid():
        try:
            actions.archive_topic(form.cleaned_data["topic"], follow=form.cleaned_data["follow"], request=request)
        except InvalidTopic as error:
            form.add_error("topic", error.message)
        else:
            messages.success(request, _("Added to the queue."))
            return redirect("nga:forums")
    return _show(request, AddForumForm(), topic_form=form, status=422)


@staff_required
@require_POST
def archive_author(request: HttpRequest) -> HttpResponse:
    """Follow any author by number or address, or end following one."""
    if ended := request.POST.get("end", ""):
        if not (ended.isascii() and ended.isdigit() and actions.unfollow_author(int(ended[:18]), request=request)):
            raise Http404
        messages.success(request, _("The author is no longer followed."))
        return redirect("nga:forums")
    form = FollowAuthorForm(request.POST)
    if form.is_valid():
        chosen_past = form.cleaned_data["with_past"]
        try:
            actions.follow_author(form.cleaned_data["author"], with_past=chosen_past, request=request)
        except InvalidAuthor as error:
            form.add_error("author", error.message)
        else:
            messages.success(request, _("New topics and replies of this author are archived."))
            return redirect("nga:forums")
    return _show(request, AddForumForm(), author_form=form, status=422)


@staff_required
@require_POST
def follow_topic(request: HttpRequest, tid: int) -> HttpResponse:
    """Follow a topic, or end following it."""
    thread = filters.thread(tid, request.GET.get("fid"))
    if request.POST.get("end"):
        actions.unfollow(thread, request=request)
        messages.success(request, _("The topic is no longer followed."))
    else:
        actions.follow(thread, request=request)
        messages.success(request, _("The topic is followed until it is quiet."))
    return redirect(path(thread))


@staff_required
@require_POST
def selected_topics(request: HttpRequest) -> HttpResponse:
    """Follow the selected topics, or end following them. A selected post means its topic."""
    act = request.POST.get("act", "")
    if act not in ("follow", "unfollow"):
        raise Http404
    threads = filters.threads_of(selection.selected(request))
    done = actions.follow_many(threads, end=act == "unfollow", request=request)
    if not threads:
        messages.warning(request, _("Select at least one topic."))
    elif act == "follow":
        words = ngettext("%(n)s topic is followed until it is quiet.", "%(n)s topics are followed until quiet.", done)
        messages.success(request, words % {"n": done})
    else:
        words = ngettext("%(n)s topic is no longer followed.", "%(n)s topics are no longer followed.", done)
        messages.success(request, words % {"n": done})
    return redirect(safe_next(request, None, "nga:topics"))


@staff_required
@require_POST
def follow_author(request: HttpRequest, tid: int, uid: int) -> HttpResponse:
    """Follow an author of this topic, or end following."""
    thread = filters.thread(tid, request.GET.get("fid"))
    if request.POST.get("end"):
        actions.unfollow_author(uid, request=request)
        messages.success(request, _("The author is no longer followed."))
    elif (name := filters.author_name(thread, uid)) is not None:
        actions.follow_author(str(uid), name, request=request)
        messages.success(request, _("New topics and replies of this author are archived."))
    else:
        raise Http404
    return redirect("nga:notify_author", tid, uid)


def _fid(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None


def _say(request: HttpRequest, run: Any) -> None:
    if run is None:
        messages.info(request, _("Already queued or running."))
        return
    messages.success(request, _("Added to the queue."))


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
        except InvalidInput as error:
            form.add_error("fid", error.message)
        else:
            messages.success(request, _("Board added. The next run crawls it, or select Crawl now."))
            return redirect("nga:forums")
    return _show(request, form, status=422)


@staff_required
@require_POST
def add_suggested(request: HttpRequest) -> HttpResponse:
    """Add the suggested board and start its first crawl, with one click on the empty page."""
    try:
        actions.add_suggested(request=request)
    except InvalidInput as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Board added. The first crawl is in the queue."))
    return redirect("nga:topics")


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
        except InvalidInput as error:
            error.add_to(form)
        else:
            messages.success(request, _("Saved."))
            return redirect("nga:forums")
    shown = head(request, "forums", forum.source_forum_id)
    return render(request, "nga/forum.html", {**shown, "form": form}, status=422 if form.errors else 200)


def _show(
    request: HttpRequest,
    form: AddForumForm,
    *,
    topic_form: ArchiveTopicForm | None = None,
    author_form: FollowAuthorForm | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = head(request, "forums")
    authors = FollowedAuthor.objects.order_by("author_source_user_id")
    context = {
        **shown,
        "rows": _rows(shown["forums"]),
        "form": form,
        "topic_form": topic_form or ArchiveTopicForm(),
        "author_form": author_form or FollowAuthorForm(),
        "followed": FollowedThread.objects.count(),
        "authors": authors[:AUTHORS_SHOWN],
        "author_count": authors.count(),
    }
    return render(request, "nga/forums.html", context, status=status)


def _rows(found: list[Forum]) -> list[Row]:
    topics = dict(Thread.objects.order_by().values("forum_id").annotate(n=Count("pk")).values_list("forum_id", "n"))
    ended = CrawlRun.objects.filter(run_finished_at__isnull=False).order_by().values("forum_id")
    last = dict(ended.annotate(at=Max("run_finished_at")).values_list("forum_id", "at"))
    return [Row(forum, topics.get(forum.pk, 0), last.get(forum.pk)) for forum in found]


@never_cache
@require_http_methods(["GET", "POST"])
def forum_feed(request: HttpRequest, fid: str) -> HttpResponse:
    return _own(request, _board(fid))


@never_cache
@require_http_methods(["GET", "POST"])
def topic_feed(request: HttpRequest, tid: int) -> HttpResponse:
    return _own(request, Subject(thread=filters.thread(tid, request.GET.get("fid"))))


def _board(fid: str) -> Subject:
    if not fid.removeprefix("-").isdigit() or not fid.isascii() or len(fid) > 18:
        raise Http404
    return Subject(forum=chosen(boards(), int(fid)))


def _own(request: HttpRequest, subject: Subject) -> HttpResponse:
    """Show the active addresses and create one. A new address is in this response only."""
    user = person_of(request)
    context: dict[str, Any] = {"subject": subject}
    if request.method == "POST":
        if stream_feeds.of(user).count() >= stream_feeds.MOST:
            messages.error(request, _("You have %(n)s feeds. Revoke one first.") % {"n": stream_feeds.MOST})
            return redirect(request.path)
        context["address"] = feeds.make(user, subject, request)
    context["feeds"] = [(each, reverse("nga:revoke_feed", args=[each.pk])) for each in feeds.of(user, subject)]
    return render(request, "nga/feed.html", context)


@require_POST
def revoke_feed(request: HttpRequest, pk: int) -> HttpResponse:
    mine = stream_feeds.of(person_of(request)).filter(source=feeds.SOURCE)
    feed = get_object_or_404(mine, pk=pk)
    subject = feeds.subject_of(*feed.kind.split(":", 1))
    stream_feeds.revoke(feed, request=request)
    messages.success(request, _("Feed revoked. Its address no longer works."))
    return redirect(subject.own_page if subject else "nga:topics")


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, kind: str, number: str) -> HttpResponse:
    found = feeds.find(token, kind, number)
    if found is None:
        raise Http404
    subject, row = found
    return stream_feeds.answer(request, feeds.document(subject, token, row.user.language or "en"), stream_feeds.ATOM)
