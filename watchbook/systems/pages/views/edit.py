"""Pages that add, change and delete websites and single addresses, and their actions.

Rules of a website: what they are, a preview on what is stored, adding and deleting.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.base.invalid import InvalidInput
from watchbook.core import url_lists
from watchbook.core.accounts.access import person_of
from watchbook.systems.pages import actions
from watchbook.systems.pages.forms import PageForm, RuleForm, SiteForm
from watchbook.systems.pages.models import Page, Site, SiteRule
from watchbook.systems.pages.views import header_context, own_page, own_site


@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Choose a list whose pages are read, or a single address."""
    user = person_of(request)
    taken = set(Site.objects.of(user).values_list("list_name", flat=True))
    lists = [one for one in url_lists.lists_of(user) if one.name not in taken]
    form = SiteForm(request.POST if request.method == "POST" else None, user=user, lists=lists)
    if request.method == "GET":
        form.choose(request.GET.get("list", "")[:200], lists)
    elif form.is_valid():
        try:
            with transaction.atomic():
                made = actions.add_site(user, form.cleaned_data["list_name"], form.values())
                actions.set_lists(made, form.cleaned_data["more_lists"])
                actions.set_channels(made, form.channel_ids)
            return redirect("pages:site", made.pk)
        except InvalidInput as error:
            error.add_to(form)
    context = {"form": form, "lists": lists, "page_form": PageForm()}
    return render(request, "pages/add.html", context, status=422 if form.errors else 200)


@require_POST
def add_page(request: HttpRequest) -> HttpResponse:
    """Watch a single address."""
    form = PageForm(request.POST)
    if form.is_valid():
        try:
            made = actions.add_page(person_of(request), **form.cleaned_data)
            return redirect("pages:page", made.pk)
        except InvalidInput as error:
            error.add_to(form)
    user = person_of(request)
    context = {"form": SiteForm(user=user), "lists": [], "page_form": form}
    return render(request, "pages/add.html", context, status=422)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, site_id: int) -> HttpResponse:
    site = own_site(request, site_id)
    form = SiteForm(request.POST if request.method == "POST" else None, user=person_of(request), site=site)
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_site(site, form.values())
            actions.set_lists(site, form.cleaned_data["more_lists"])
            actions.set_channels(site, form.channel_ids)
            messages.success(request, _("Saved."))
            return redirect("pages:site", site.pk)
        except InvalidInput as error:
            error.add_to(form)
    context = {**header_context(site), "form": form}
    return render(request, "pages/edit.html", context, status=422 if form.errors else 200)


@require_POST
def step(request: HttpRequest, site_id: int, name: str) -> HttpResponse:
    """Check, pause or resume a website."""
    site = own_site(request, site_id)
    try:
        if name == "check":
            actions.check_now(site, user=person_of(request))
            messages.success(request, _("Queued. Due pages are read next."))
        else:
            {"pause": actions.pause, "resume": actions.resume}[name](site)
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect("pages:site", site.pk)


@require_POST
def page_step(request: HttpRequest, page_id: int, name: str) -> HttpResponse:
    """Read one page now, or reset its learned noise."""
    page = own_page(request, page_id)
    try:
        if name == "check_page":
            actions.check_page(page, user=person_of(request))
            messages.success(request, _("Queued. This page is read next."))
        else:
            actions.forget_noise(page)
            messages.success(request, _("Reset. The next two requests learn the noise again."))
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect("pages:page", page.pk)


@require_POST
def delete(request: HttpRequest, site_id: int) -> HttpResponse:
    site = own_site(request, site_id)
    actions.delete_site(site, person_of(request))
    messages.success(request, _("%(name)s was deleted.") % {"name": site.name})
    return redirect("pages:sites")


@require_POST
def delete_page(request: HttpRequest, page_id: int) -> HttpResponse:
    """Stop watching a single address; a page of a list stays as long as the list names it."""
    page = own_page(request, page_id)
    if page.interval_minutes is None:
        messages.error(request, _("This page belongs to a list. Change the list, or which pages are read."))
        return redirect("pages:page", page.pk)
    actions.delete_page(page)
    messages.success(request, _("%(name)s was deleted.") % {"name": page.path})
    return redirect("pages:site", page.site_id)


@require_http_methods(["GET", "POST"])
def rules(request: HttpRequest, site_id: int, rule_id: int | None = None) -> HttpResponse:
    """List the rules; preview, add or change one. `page` in the address names the only page that it is about."""
    site, user = own_site(request, site_id), person_of(request)
    rows = SiteRule.objects.filter(site=site).select_related("site", "page").prefetch_related("channels").order_by("pk")
    rule = get_object_or_404(rows, pk=rule_id) if rule_id is not None else None
    form = RuleForm(
        request.POST if request.method == "POST" else None, user=user, rule=rule, page=_page_of(request, site)
    )
    context: dict[str, Any] = {**header_context(site, "rules"), "form": form, "rule": rule}
    if request.method == "POST" and form.is_valid():
        try:
            if request.POST.get("step") != "preview":
                _save_rule(site, rule, form)
                messages.success(request, _("Saved."))
                return redirect("pages:rules", site.pk)
            context["preview"] = actions.preview_rule(site, **form.given())
        except InvalidInput as error:
            error.add_to(form)
    context |= {"rules": rows, "about": _page_of(request, site) or (rule.page if rule else None)}
    return render(request, "pages/rules.html", context, status=422 if form.errors else 200)


def _save_rule(site: Site, rule: SiteRule | None, form: RuleForm) -> None:
    if rule is None:
        actions.add_rule(site, channel_ids=form.channel_ids, **form.given())
    else:
        actions.change_rule(rule, channel_ids=form.channel_ids, **form.given())


def _page_of(request: HttpRequest, site: Site) -> Page | None:
    number = request.POST.get("page_id", "") or request.GET.get("page", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    return Page.objects.filter(site=site, pk=int(number)).first() if is_number else None


@require_POST
def delete_rule(request: HttpRequest, site_id: int, rule_id: int) -> HttpResponse:
    site = own_site(request, site_id)
    actions.delete_rule(get_object_or_404(SiteRule.objects.select_related("site"), site=site, pk=rule_id))
    return redirect("pages:rules", site.pk)
