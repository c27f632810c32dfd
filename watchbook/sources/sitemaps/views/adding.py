"""Adding a monitor: a look at the address, what was found, then saving. Changing one, deleting it, taking it back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.base import sandbox
from watchbook.base.web.address import check_url
from watchbook.base.web.errors import WebError
from watchbook.core.accounts import limits
from watchbook.sources.sitemaps import actions
from watchbook.sources.sitemaps.actions import WrongMonitor
from watchbook.sources.sitemaps.forms import MonitorForm, name_of
from watchbook.sources.sitemaps.jobs.looking import Look, SiteInstead
from watchbook.sources.sitemaps.models import MonitorTask, url_digest
from watchbook.sources.sitemaps.parse import Unreadable
from watchbook.sources.sitemaps.sentences import error_text, said
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.own import own_monitor, reader
from watchbook.sources.sitemaps.views.words import gather, kind_text

LOOKS, LOOK_SECONDS = 60, 600
PROOF_SALT, PROOF_SECONDS = "sitemaps.look", 900
NOTES_KEPT = 20
CANNOT_READ = (WebError, Unreadable, sandbox.TaskError)


@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """First a look at the address, then the rest of the form with what was found, then the monitor."""
    if request.method == "GET":
        form = MonitorForm(user=request.user)
        form.initial["sitemap_url"] = request.GET.get("url", "")[:2048]
        return render(request, "sitemaps/add.html", {"form": form})
    typed = _typed(request)
    form = MonitorForm(typed, user=request.user)
    look = _known_look(request)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        if request.POST.get("step") == "check":
            context |= _look(request, form)
        else:
            answer = _save(request, form, look)
            if answer is not None:
                return answer
    if look is not None and "found" not in context:
        context |= _found(request, look)
    # A swapped part is an answer like any other; a browser would write an error into its console.
    refused = bool(form.errors) and not getattr(request, "htmx", False)
    return render(request, "sitemaps/add.html", context, status=422 if refused else 200)


def _typed(request: HttpRequest) -> Any:
    """What was typed; a sitemap chosen from those that the site names stands for the site's own address."""
    typed = request.POST.copy()
    if typed.get("chosen") and typed.get("offered_for") == typed.get("sitemap_url"):
        typed["sitemap_url"] = str(typed["chosen"])
    return typed


def _look(request: HttpRequest, form: MonitorForm) -> dict[str, Any]:
    if not limits.allow("sitemap-look", str(reader(request).pk), most=LOOKS, seconds=LOOK_SECONDS):
        form.add_error("sitemap_url", _("That were many addresses. Try again in ten minutes."))
        return {}
    try:
        look = actions.look_first(request.user, form.cleaned_data["sitemap_url"])
    except SiteInstead as site:
        return {"offered": site.sitemaps}
    except (WrongMonitor, *CANNOT_READ) as error:
        return _complain(request, form, error)
    if not form["name"].value():
        form.data["name"] = name_of(look.url)  # type: ignore[index]
    return _found(request, look)


def _save(request: HttpRequest, form: MonitorForm, look: Look | None) -> HttpResponse | None:
    """None when something is wrong; the form then says what."""
    try:
        monitor, look = actions.add_monitor(request.user, form.values(), look)
    except SiteInstead:
        form.add_error("sitemap_url", _("This is a page, not a sitemap. Check the address to see what its site names."))
    except (WrongMonitor, *CANNOT_READ) as error:
        _complain(request, form, error)
    else:
        messages.success(request, _("Saved. The first check is the baseline; you are told of what changes after it."))
        return _go(request, reverse("sitemaps:monitor", args=[monitor.pk]))
    return None


def _complain(request: HttpRequest, form: MonitorForm, error: Any) -> dict[str, Any]:
    """Put what is wrong beside its field. What is watched already can be opened."""
    field, address = getattr(error, "field", "sitemap_url"), form.cleaned_data["sitemap_url"]
    form.add_error({"channel_ids": "channels"}.get(field, field) or None, error_text(said(error)))
    if getattr(error, "code", "") != "already_watched":
        return {}
    digest = url_digest(check_url(address).url)
    return {"watched": MonitorTask.objects.of(request.user).filter(live_url_digest=digest).first()}


def _go(request: HttpRequest, address: str) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)


def _found(request: HttpRequest, look: Look) -> dict[str, Any]:
    kept = asdict(look) | {"notes": look.notes[:NOTES_KEPT]}
    proof = signing.dumps({"user": str(reader(request).pk), "look": kept}, salt=PROOF_SALT, compress=True)
    return {"found": look, "kind": kind_text(look.kind), "notes": gather(look.notes), "proof": proof}


def _known_look(request: HttpRequest) -> Look | None:
    """The look that this person had at an address a moment ago: signed by us, so that nobody is asked twice."""
    try:
        kept = signing.loads(request.POST.get("proof", ""), salt=PROOF_SALT, max_age=PROOF_SECONDS)
    except signing.BadSignature:
        return None
    return Look(**kept["look"]) if kept["user"] == str(reader(request).pk) else None


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    shown = head(found)
    form = MonitorForm(request.POST if request.method == "POST" else None, user=request.user, monitor=found)
    context: dict[str, Any] = {**shown, "form": form, "name": found.name}
    if request.method == "POST" and form.is_valid():
        before = found.sitemap_url
        try:
            actions.change_monitor(found, form.values())
        except SiteInstead as site:
            form.add_error("sitemap_url", _("This is a page, not a sitemap. Its site names these:"))
            context["offered"] = site.sitemaps
        except (WrongMonitor, *CANNOT_READ) as error:
            context |= _complain(request, form, error)
        else:
            is_moved = found.sitemap_url != before
            messages.success(request, _("Saved. A new baseline follows.") if is_moved else _("Saved."))
            return _go(request, reverse("sitemaps:monitor", args=[found.pk]))
    return render(request, "sitemaps/edit.html", context, status=422 if form.errors else 200)


@require_POST
def delete(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """At once, and the list offers to take it back."""
    found = own_monitor(request, monitor_id)
    actions.delete(found)
    return redirect(f"{reverse('sitemaps:monitors')}?deleted={found.pk}")


@require_POST
def restore(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    gone = MonitorTask.objects.filter(user=reader(request), deleted_at__isnull=False)
    found = get_object_or_404(gone, pk=monitor_id)
    try:
        actions.restore(found)
    except WrongMonitor as error:
        messages.error(request, error.message)
        return redirect("sitemaps:monitors")
    messages.success(request, _("%(name)s is back.") % {"name": found.name})
    return redirect("sitemaps:monitor", found.pk)


@require_POST
def step(request: HttpRequest, monitor_id: UUID, name: str) -> HttpResponse:
    """Check now, pause, resume, retry."""
    found = own_monitor(request, monitor_id)
    act, words = {
        "check": (actions.check_now, _("A check is in the queue.")),
        "pause": (actions.pause, _("Paused. Nothing is asked of the site until you resume it.")),
        "resume": (actions.resume, _("Active again. A check is in the queue.")),
        "retry": (actions.retry, _("Active again. A check is in the queue.")),
    }[name]
    try:
        act(found)
    except WrongMonitor as error:
        messages.warning(request, error.message)
    else:
        messages.success(request, words)
    return redirect("sitemaps:monitor", found.pk)
