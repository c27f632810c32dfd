"""Addresses of the sitemaps pages."""

from __future__ import annotations

from django.urls import path

from watchbook.sources.sitemaps.views import adding, changes, feed, monitor, monitors, parts, snapshots

app_name = "sitemaps"

urlpatterns = [
    path("", monitors.monitors, name="monitors"),
    path("add/", adding.add, name="add"),
    path("<uuid:monitor_id>/", monitor.monitor, name="monitor"),
    path("<uuid:monitor_id>/live/", monitor.live, name="live"),
    path("<uuid:monitor_id>/changes/", changes.changes, name="changes"),
    path("<uuid:monitor_id>/snapshots/", snapshots.snapshots, name="snapshots"),
    path("<uuid:monitor_id>/parts/", parts.parts, name="parts"),
    path("<uuid:monitor_id>/feed/", feed.own_feed, name="own_feed"),
    path("<uuid:monitor_id>/feed/<int:pk>/revoke/", feed.revoke_feed, name="revoke_feed"),
    path("<uuid:monitor_id>/edit/", adding.edit, name="edit"),
    path("<uuid:monitor_id>/delete/", adding.delete, name="delete"),
    path("<uuid:monitor_id>/restore/", adding.restore, name="restore"),
    *(
        path(f"<uuid:monitor_id>/{name}/", adding.step, {"name": name}, name=name)
        for name in ("check", "pause", "resume", "retry")
    ),
    path("changes/<uuid:change_id>/", changes.change, name="change"),
    path("changes/<uuid:change_id>/urls.<str:form>", changes.change_file, name="change_file"),
    path("snapshots/<uuid:snapshot_id>/", snapshots.snapshot, name="snapshot"),
    path("snapshots/<uuid:snapshot_id>/urls.<str:form>", snapshots.snapshot_file, name="snapshot_file"),
    path("feeds/<str:token>/<uuid:monitor_id>.atom", feed.feed, name="feed"),
]
