"""What operators start: a collection, and another try for what failed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from watchbook.core.accounts.access import staff_required
from watchbook.sources.notes import actions, options
from watchbook.sources.notes.views.head import why_nothing_is_read

MOST_AGAIN = 500


@staff_required
@require_POST
def collect(request: HttpRequest) -> HttpResponse:
    closed = why_nothing_is_read()
    if closed:
        messages.error(request, closed)
    elif not options.RUNNER.value:
        messages.warning(request, _("Another program collects here: NOTES_RUNNER is off."))
    else:
        actions.collect_soon(user=request.user, request=request)
        messages.success(request, _("It is in the queue."))
    return redirect("notes:executions")


@staff_required
@require_POST
def try_again(request: HttpRequest) -> HttpResponse:
    """The candidates that are named, or with `all` every failed one."""
    ids = request.POST.getlist("note_id")[:MOST_AGAIN]
    count = actions.try_again(None if request.POST.get("all") else [one for one in ids if one.isprintable()])
    if count:
        words = ngettext("%(n)s candidate waits again.", "%(n)s candidates wait again.", count)
        messages.success(request, words % {"n": count})
    else:
        messages.info(request, _("None of them had failed."))
    return redirect(_back(request))


def _back(request: HttpRequest) -> str:
    """To the list that the button stood in."""
    place = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(place, allowed_hosts=None) and place.startswith(
        reverse("notes:candidates")
    )
    return place if is_ours else reverse("notes:candidates")
