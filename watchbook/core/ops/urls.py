"""Addresses of probes, metrics, alerts and the Operations pages."""

from __future__ import annotations

from django.urls import path

from watchbook.core.alerts.views import alerts
from watchbook.core.ops import health, health_page, settings_page, views

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("alerts/", alerts, name="alerts"),
    path("operations/", views.overview, name="ops"),
    path("operations/health/", health_page.health, name="ops_health"),
    path("operations/settings/", settings_page.settings_page, name="ops_settings"),
    path("operations/settings/<str:name>/", settings_page.save_group, name="ops_settings_save"),
    path("operations/settings/<str:name>/test/", settings_page.try_group, name="ops_settings_test"),
    path("operations/backups/", views.backups, name="ops_backups"),
    path("operations/backups/new/", views.back_up_now, name="ops_backup_now"),
    path("operations/backups/<str:name>", views.download, name="ops_backup"),
]
