"""Addresses of health, figures and the Operations pages."""

from __future__ import annotations

from django.urls import path

from watchbook.core.ops import probes, views

urlpatterns = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", probes.metrics, name="metrics"),
    path("operations/", views.overview, name="ops"),
    path("operations/backups/", views.backups, name="ops_backups"),
    path("operations/backups/new/", views.back_up_now, name="ops_backup_now"),
    path("operations/backups/<str:name>", views.download, name="ops_backup"),
]
