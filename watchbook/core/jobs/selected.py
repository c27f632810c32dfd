"""What an operator does with selected jobs (run now, pause, resume) and selected runs (run again, cancel)."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from watchbook.core import registry
from watchbook.core.accounts.access import person_of, safe_next, staff_required
from watchbook.core.jobs import actions
from watchbook.core.jobs.models import JobRun, State

MOST = 200


@staff_required
@require_POST
def jobs(request: HttpRequest) -> HttpResponse:
    """Run the selected jobs now, or pause or resume their schedules."""
    act = request.POST.get("act", "")
    if act not in ("run", "pause", "resume"):
        raise Http404
    known = registry.jobs()
    names = [name for name in dict.fromkeys(request.POST.getlist("name")[:MOST]) if name in known]
    if not names:
        messages.warning(request, _("Select at least one job."))
    elif act == "run":
        _run(request, names)
    else:
        _pause(request, [name for name in names if known[name].schedule], paused=act == "pause")
    return redirect(safe_next(request, None, "jobs"))


def _run(request: HttpRequest, names: Sequence[str]) -> None:
    by_hand = [name for name in names if registry.jobs()[name].by_hand]
    done = len(actions.run_many(by_hand, user=person_of(request), request=request))
    words = ngettext("%(n)s job is queued.", "%(n)s jobs are queued.", done) % {"n": done}
    _say(request, words, done, skipped=len(names) - done)


def _pause(request: HttpRequest, names: Sequence[str], *, paused: bool) -> None:
    actions.pause_many(names, paused, request=request)
    done = len(names)
    if paused:
        words = ngettext("The schedule of %(n)s job is paused.", "The schedules of %(n)s jobs are paused.", done)
    else:
        words = ngettext("The schedule of %(n)s job is resumed.", "The schedules of %(n)s jobs are resumed.", done)
    _say(request, words % {"n": done}, done)


@staff_required
@require_POST
def runs(request: HttpRequest) -> HttpResponse:
    """Run ended ones of the selected runs again, or cancel those that wait or run."""
    act = request.POST.get("act", "")
    if act not in ("again", "stop"):
        raise Http404
    ids = [int(text) for text in request.POST.getlist("pk")[:MOST] if text.isascii() and text.isdigit()]
    chosen = list(JobRun.objects.filter(pk__in=[number for number in ids if number < 2**63]).order_by("pk"))
    if not chosen:
        messages.warning(request, _("Select at least one run."))
    elif act == "again":
        ended = [run for run in chosen if run.state not in (State.QUEUED, State.RUNNING)]
        done = len(actions.run_again_many(ended, user=person_of(request), request=request))
        words = ngettext("%(n)s run is queued again.", "%(n)s runs are queued again.", done) % {"n": done}
        _say(request, words, done, skipped=len(chosen) - done)
    else:
        done = sum(actions.stop(run, request=request) for run in chosen)
        words = ngettext("%(n)s run cancelled.", "%(n)s runs cancelled.", done) % {"n": done}
        _say(request, words, done, skipped=len(chosen) - done)
    return redirect(safe_next(request, None, "job_runs"))


def _say(request: HttpRequest, words: str, done: int, skipped: int = 0) -> None:
    if skipped:
        words += " " + ngettext("%(n)s does not allow this.", "%(n)s do not allow this.", skipped) % {"n": skipped}
    (messages.success if done and not skipped else messages.warning)(request, words)
