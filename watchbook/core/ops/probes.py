"""Answers for machines that watch us: alive, ready, figures."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from watchbook.core.ops import health
from watchbook.core.ops.access import may_see_detail


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Nothing else is asked, least of all the database."""
    return JsonResponse({"ok": True})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Work goes on: 200, else 503. Causes only for operators; a stranger learns that it is so, not why."""
    checks = health.readiness()
    is_ready = all(check.ok for check in checks)
    answer: dict[str, object] = {"ok": is_ready}
    if may_see_detail(request):
        answer["checks"] = [{"name": check.name, "ok": check.ok, "message": check.message} for check in checks]
    return JsonResponse(answer, status=200 if is_ready else 503, json_dumps_params={"ensure_ascii": False})


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_see_detail(request):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    from watchbook.core.ops.metrics import render  # the client library is heavy and few installations use it

    try:
        return HttpResponse(render(), content_type="text/plain; version=0.0.4; charset=utf-8")
    except DatabaseError:
        return HttpResponse(status=503)
