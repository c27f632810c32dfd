"""Rules of a website: what they are, a preview on what is stored, adding and deleting."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.base.invalid import InvalidInput
from watchbook.systems.pages import actions
from watchbook.systems.pages.forms import RuleForm
from watchbook.systems.pages.models import SiteRule
from watchbook.systems.pages.views import header_context, own_site


@require_http_methods(["GET", "POST"])
def rules(request: HttpRequest, site_id: int) -> HttpResponse:
    """List the rules, preview one, and add it."""
    site = own_site(request, site_id)
    form = RuleForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {**header_context(site, "rules"), "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            if request.POST.get("step") != "preview":
                actions.add_rule(site, **form.cleaned_data)
                return redirect("pages:rules", site.pk)
            context["preview"] = actions.preview_rule(site, **form.cleaned_data)
        except InvalidInput as error:
            error.add_to(form)
    context["rules"] = SiteRule.objects.filter(site=site).order_by("pk")
    return render(request, "pages/rules.html", context, status=422 if form.errors else 200)


@require_POST
def delete(request: HttpRequest, site_id: int, rule_id: int) -> HttpResponse:
    site = own_site(request, site_id)
    actions.delete_rule(get_object_or_404(SiteRule.objects.select_related("site"), site=site, pk=rule_id))
    return redirect("pages:rules", site.pk)
