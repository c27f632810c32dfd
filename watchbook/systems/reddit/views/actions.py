"""Pages that change something: crawl now, add, import, remove, priority, comments, tags, enable."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.access import is_safe_target, person_of, staff_required
from watchbook.core.jobs import views as job_views
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.actions import authors
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.models import CommunityPool, CommunityPriority
from watchbook.systems.reddit.pool import MAX_BYTES, SAMPLE, InvalidPoolFile, PoolFile, read_entries
from watchbook.systems.reddit.records import HOME, community_path
from watchbook.systems.reddit.views.page_header import community_or_404, live_work, page_context

ENDINGS = (".json", ".csv")


class PoolForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("JSON or CSV with the columns name, tier, categories, quality_score, is_active."),
        widget=forms.FileInput(attrs={"accept": ",".join(ENDINGS)}),
    )

    content: PoolFile

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if PurePath(file.name).suffix.lower() not in ENDINGS:
            raise forms.ValidationError(_("Choose a .json or .csv file."))
        if file.size > MAX_BYTES:
            raise forms.ValidationError(_("The file is larger than 20 MB."))
        try:
            self.content = read_entries(file.read(), file.name)
        except InvalidPoolFile as error:
            raise forms.ValidationError(str(error)) from None
        return file


class CommunityForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name or address"),
        max_length=200,
        help_text=gettext_lazy("For example r/webdev or https://www.reddit.com/r/webdev/."),
    )
    tier = forms.ChoiceField(
        label=gettext_lazy("Priority"),
        choices=CommunityPriority.choices,
        initial=CommunityPriority.MEDIUM,
        help_text=gettext_lazy("High, medium and low: crawled at least every 2, 6 and 24 hours."),
    )
    comments = forms.BooleanField(
        label=gettext_lazy("Crawl comments"),
        required=False,
        help_text=gettext_lazy("About 1 request per 25 comments, rechecks included"),
    )
    categories = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=4000,
        help_text=gettext_lazy("Separated by commas."),
    )


# Notes of an import that are shown on the page; the command lists all.
NOTES_SHOWN = 10


@staff_required
@require_POST
def crawl(request: HttpRequest) -> HttpResponse:
    if _may_ask(request):
        _say(request, actions.crawl_due_soon(request=request))
    return redirect(HOME)


@staff_required
@require_POST
def crawl_community(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    if _may_ask(request):
        _say(request, actions.crawl_community_soon(row.community_name, request=request))
    return redirect(community_path(row.community_name))


@staff_required
@require_POST
def activate(request: HttpRequest, name: str) -> HttpResponse:
    """Enable the community if `on` is 1, otherwise disable it; return to the page of the button."""
    row = community_or_404(name)
    is_on = request.POST.get("on") == "1"
    actions.set_active(row.community_name, is_on, actor=request.user)
    on, off = _("%(name)s enabled. The next crawl is due now."), _("%(name)s disabled. It is no longer crawled.")
    words = on if is_on else off
    messages.success(request, words % {"name": row.community_name})
    back = request.POST.get("next", "")
    return redirect(back if is_safe_target(back) and back.startswith(HOME) else community_path(row.community_name))


@staff_required
@require_POST
def priority(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    try:
        changed = actions.set_priority(row.community_name, request.POST.get("tier", ""), actor=request.user)
    except InvalidInput as error:
        messages.error(request, error.message)
    else:
        words = _("Priority saved. The community is crawled at least every %(n)s hours.")
        messages.success(request, words % {"n": changed.crawl_frequency_hours})
    return redirect(community_path(row.community_name))


@staff_required
@require_POST
def comments(request: HttpRequest, name: str) -> HttpResponse:
    """Switch the comments of a community on, off, or to the default."""
    row = community_or_404(name)
    chosen = {"on": True, "off": False, "default": None}.get(request.POST.get("comments", ""))
    threads.set_comments(row.community_name, chosen, actor=person_of(request))
    is_on = threads.is_crawled(threads.listing_of(row))
    on, off = (
        _("Comments are crawled. The first crawl is due now."),
        _("Comments are not crawled. Stored ones are kept."),
    )
    messages.success(request, on if is_on else off)
    return redirect(community_path(row.community_name))


@staff_required
@require_POST
def tags(request: HttpRequest, name: str) -> HttpResponse:
    row = community_or_404(name)
    try:
        actions.set_tags(row.community_name, split_tags(request.POST.get("categories", "")), actor=person_of(request))
    except InvalidInput as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Tags saved."))
    return redirect(community_path(row.community_name))


def split_tags(text: str) -> list[str]:
    """Split at the commas of both languages."""
    return text.replace("，", ",").split(",")


@staff_required
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    start = {"comments": options.COMMENTS.value}
    form = CommunityForm(request.POST) if request.method == "POST" else CommunityForm(initial=start)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            row = actions.add_community(
                given["name"], priority=given["tier"], tags=split_tags(given["categories"]), actor=person_of(request)
            )
        except InvalidInput as error:
            error.add_to(form)
        else:
            if given["comments"] != options.COMMENTS.value:
                threads.set_comments(row.community_name, given["comments"], actor=person_of(request))
            words = _("%(name)s added. The first crawl is due now.")
            messages.success(request, words % {"name": row.community_name})
            return redirect(community_path(row.community_name))
    context = {**page_context(request, "communities"), "form": form}
    return render(request, "reddit/add.html", context, status=422 if form.errors else 200)


@staff_required
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation, then remove the community from the list."""
    row = community_or_404(name)
    if request.method == "POST":
        kept = actions.remove_community(row.community_name, actor=person_of(request))
        words = ngettext("%(name)s removed. %(n)s post is kept.", "%(name)s removed. %(n)s posts are kept.", kept)
        messages.success(request, words % {"name": row.community_name, "n": kept})
        return redirect(HOME)
    posts = actions.posts().filter(subreddit=row.community_name).count()
    context = {**page_context(request, "communities"), "row": row, "posts": posts}
    return render(request, "reddit/remove.html", context)


@staff_required
@require_http_methods(["GET", "POST"])
def erase_author(request: HttpRequest, author: str) -> HttpResponse:
    """Show what is stored of an author and ask for confirmation, then erase it."""
    try:
        name = authors.checked_name(author)
    except InvalidInput:
        raise Http404 from None
    if request.method == "POST":
        gone = authors.erase_author(name, reason=request.POST.get("reason", ""), actor=person_of(request))
        count = gone.posts + gone.comments
        words = ngettext("%(n)s post or comment erased.", "%(n)s posts and comments erased.", count)
        messages.success(request, words % {"n": count})
        return redirect("reddit:posts")
    context = {**page_context(request, "posts"), "author": name, "found": authors.written_by(name)}
    return render(request, "reddit/erase_author.html", {**context, "max_reason": authors.MAX_REASON})


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    work = live_work()
    return job_views.live_work(request, work, home=HOME, of=work.args.get("community", "") if work else "")


def _may_ask(request: HttpRequest) -> bool:
    if not options.is_live():
        messages.error(request, _("Reddit access is not set up. Enter client ID and secret under Settings."))
    return options.is_live()


def _say(request: HttpRequest, run: Any) -> None:
    if run is None:
        messages.info(request, _("Already queued or running."))
        return
    messages.success(request, _("Queued."))


@staff_required
@require_http_methods(["GET", "POST"])
def pool(request: HttpRequest) -> HttpResponse:
    form = PoolForm(request.POST, request.FILES) if request.method == "POST" else PoolForm()
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["file"].name
        return _loaded(request, actions.load_file(form.content, name, actor=request.user))
    context: dict[str, Any] = {
        **page_context(request, "communities"),
        "form": form,
        "pool_count": CommunityPool.objects.count(),
        "off_count": CommunityPool.objects.filter(is_active=False).count(),
    }
    return render(request, "reddit/pool.html", context, status=422 if form.errors else 200)


@staff_required
@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    return _loaded(request, actions.load_pool(SAMPLE, actor=request.user))


def _loaded(request: HttpRequest, tally: dict[str, Any]) -> HttpResponse:
    words = _("%(added)s communities added, %(updated)s updated, %(total)s in total. The first crawls are due now.")
    messages.success(request, words % tally)
    notes = tally.get("notes", [])
    for note in notes[:NOTES_SHOWN]:
        messages.warning(request, note)
    if len(notes) > NOTES_SHOWN:
        messages.warning(request, _("%(n)s more notes.") % {"n": len(notes) - NOTES_SHOWN})
    return redirect(HOME)
