"""Pages of the sitemaps system."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask


def monitors(request: HttpRequest) -> HttpResponse:
    return render(request, "sitemaps/monitors.html", {"monitors": MonitorTask.objects.of(request.user)})


def monitor(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = get_object_or_404(MonitorTask.objects.of(request.user), pk=monitor_id)
    return render(request, "sitemaps/monitor.html", {"monitor": found})


def change(request: HttpRequest, change_id: UUID) -> HttpResponse:
    found = get_object_or_404(ChangeRecord, pk=change_id, monitor_task__in=MonitorTask.objects.of(request.user))
    return render(request, "sitemaps/change.html", {"change": found})
