"""What an operator does with the selected communities of the list."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.access import person_of, safe_next, staff_required
from watchbook.systems.reddit import actions, options
from watchbook.systems.reddit.actions import selected as many
from watchbook.systems.reddit.models import CommunityCache, CommunityPriority
from watchbook.systems.reddit.records import HOME
from watchbook.systems.reddit.views.actions import split_tags

ACTS = ("crawl", "enable", "disable", "edit", "remove")


class SelectedForm(forms.Form):
    """What changes for all selected communities; an empty field stays as it is."""

    add_tags = forms.CharField(label=gettext_lazy("Add tags"), required=False, max_length=1000)
    remove_tags = forms.CharField(label=gettext_lazy("Remove tags"), required=False, max_length=1000)
    tier = forms.ChoiceField(
        label=gettext_lazy("Priority"),
        required=False,
        choices=[("", gettext_lazy("as it is")), *CommunityPriority.choices],
    )


@staff_required
@require_POST
def selected(request: HttpRequest) -> HttpResponse:
    """Run an action for the selected communities: for all of them, or for none with the reason."""
    act = request.POST.get("act", "")
    if act not in ACTS:
        raise Http404
    back = safe_next(request, None, HOME)
    try:
        chosen = many.communities(request.POST.getlist("name"))
        if not chosen:
            messages.warning(request, _("Select at least one community."))
        elif act == "remove":
            return _remove(request, chosen, back)
        else:
            _run(request, act, chosen)
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect(back)


def _run(request: HttpRequest, act: str, chosen: Sequence[CommunityCache]) -> None:
    user = person_of(request)
    if act == "crawl":
        _crawl(request, chosen)
        return
    if act == "edit":
        form = SelectedForm(request.POST)
        if not form.is_valid():
            raise InvalidInput("", _("The text is too long."))
        given = form.cleaned_data
        done = many.change_many(
            chosen,
            priority=given["tier"],
            add_tags=split_tags(given["add_tags"]),
            remove_tags=split_tags(given["remove_tags"]),
            actor=user,
        )
        words = ngettext("Changed %(n)s community.", "Changed %(n)s communities.", done)
    else:
        done = many.change_many(chosen, is_active=act == "enable", actor=user)
        words = (
            ngettext("%(n)s community enabled. Its next crawl is due now.",
                     "%(n)s communities enabled. Their next crawls are due now.", done)
            if act == "enable"
            else ngettext("%(n)s community disabled. It is no longer crawled.",
                          "%(n)s communities disabled. They are no longer crawled.", done)
        )  # fmt: skip
    messages.success(request, words % {"n": done})


def _crawl(request: HttpRequest, chosen: Sequence[CommunityCache]) -> None:
    if not options.is_live():
        raise InvalidInput("", _("Reddit access is not set up. Enter client ID and secret under Settings."))
    done = many.crawl_many(chosen, request=request)
    if done:
        words = ngettext("%(n)s community queued.", "%(n)s communities queued.", done)
        messages.success(request, words % {"n": done})
    else:
        messages.info(request, _("Already queued or running."))


def _remove(request: HttpRequest, chosen: Sequence[CommunityCache], back: str) -> HttpResponse:
    """Ask for confirmation, then remove the communities from the list."""
    count = len(chosen)
    if request.POST.get("sure"):
        many.remove_many(chosen, actor=person_of(request))
        words = ngettext("%(n)s community removed. Its posts are kept.",
                         "%(n)s communities removed. Their posts are kept.", count)  # fmt: skip
        messages.success(request, words % {"n": count})
        return redirect(back)
    names = [row.community_name for row in chosen]
    posts = actions.posts().filter(subreddit__in=names).count()
    title = ngettext("Remove %(n)s community", "Remove %(n)s communities", count) % {"n": count}
    context = {
        "title": title,
        "button": title,
        "text": ngettext(
            "Watchbook stops crawling. %(n)s stored post is kept. Counters and tags are deleted.",
            "Watchbook stops crawling. %(n)s stored posts are kept. Counters and tags are deleted.",
            posts,
        )
        % {"n": posts},
        "names": names,
        "fields": [("act", "remove"), *(("name", name) for name in names)],
        "back": back,
    }
    return render(request, "kit/confirm.html", context)
