"""URL routes of the sitemaps pages."""

from __future__ import annotations

from django.urls import path

from watchbook.systems.sitemaps import feeds
from watchbook.systems.sitemaps.views import changes, edit, monitors, snapshots

app_name = "sitemaps"

urlpatterns = [
    path("", monitors.monitors, name="monitors"),
    path("add/", edit.add, name="add"),
    path("bulk/", edit.bulk, name="bulk"),
    path("import/", edit.import_file, name="import"),
    path("monitors.opml", edit.opml, name="opml"),
    path("<uuid:monitor_id>/", monitors.monitor, name="monitor"),
    path("<uuid:monitor_id>/live/", monitors.live, name="live"),
    path("<uuid:monitor_id>/changes/", changes.changes, name="changes"),
    path("<uuid:monitor_id>/snapshots/", snapshots.snapshots, name="snapshots"),
    path("<uuid:monitor_id>/parts/", snapshots.parts, name="parts"),
    path("<uuid:monitor_id>/feed/", feeds.own_feed, name="own_feed"),
    path("<uuid:monitor_id>/feed/<int:pk>/revoke/", feeds.revoke_feed, name="revoke_feed"),
    path("<uuid:monitor_id>/edit/", edit.edit, name="edit"),
    path("<uuid:monitor_id>/delete/", edit.delete, name="delete"),
    path("<uuid:monitor_id>/restore/", edit.restore, name="restore"),
    *(
        path(f"<uuid:monitor_id>/{name}/", edit.step, {"name": name}, name=name)
        for name in ("check", "pause", "resume", "retry")
    ),
    path("changes/<uuid:change_id>/", changes.change, name="change"),
    path("changes/<uuid:change_id>/urls.<str:form>", changes.change_file, name="change_file"),
    path("<uuid:monitor_id>/compare/", changes.choose, name="choose"),
    path("snapshots/<uuid:old_id>/compare/<uuid:new_id>/", changes.compare, name="compare"),
    path("snapshots/<uuid:snapshot_id>/", snapshots.snapshot, name="snapshot"),
    path("snapshots/<uuid:snapshot_id>/urls.<str:form>", snapshots.snapshot_file, name="snapshot_file"),
    path("feeds/<str:token>/<uuid:monitor_id>.atom", feeds.feed, name="feed"),
]
