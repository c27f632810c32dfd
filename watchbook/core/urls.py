"""Addresses of all shared pages except those of the desk: which view answers which address."""

from __future__ import annotations

from django.urls import path

from watchbook.core.jobs import selected
from watchbook.core.jobs import views as jobs
from watchbook.core.notify import push
from watchbook.core.notify import views as notify
from watchbook.core.ops import health, settings_page
from watchbook.core.ops import views as ops
from watchbook.core.people import entrance_views as entrance
from watchbook.core.people import views as people
from watchbook.core.search import views as search
from watchbook.core.sources import views as sources
from watchbook.core.stream import selection
from watchbook.core.stream import views as stream

operations = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("alerts/", ops.alerts, name="alerts"),
    path("operations/", ops.overview, name="ops"),
    path("operations/health/", ops.health_page, name="ops_health"),
    path("operations/settings/", settings_page.settings_page, name="ops_settings"),
    path("operations/settings/<str:name>/", settings_page.save_group, name="ops_settings_save"),
    path("operations/settings/<str:name>/test/", settings_page.try_group, name="ops_settings_test"),
    path("operations/backups/", ops.backups, name="ops_backups"),
    path("operations/backups/new/", ops.back_up_now, name="ops_backup_now"),
    path("operations/backups/<str:name>", ops.download, name="ops_backup"),
    path("operations/jobs/", jobs.board_page, name="jobs"),
    path("operations/jobs/live/", jobs.live, name="jobs_live"),
    path("operations/jobs/pause/", jobs.pause_all, name="jobs_pause"),
    path("operations/jobs/selected/", selected.jobs, name="jobs_selected"),
    path("operations/jobs/<str:name>/", jobs.job_page, name="job"),
    path("operations/jobs/<str:name>/run/", jobs.run_now, name="job_run_now"),
    path("operations/jobs/<str:name>/pause/", jobs.pause_one, name="job_pause"),
    path("operations/runs/", jobs.runs_page, name="job_runs"),
    path("operations/runs/selected/", selected.runs, name="runs_selected"),
    path("operations/runs/<int:pk>/", jobs.run_page, name="job_run"),
    path("operations/runs/<int:pk>/live/", jobs.run_live, name="job_run_live"),
    path("operations/runs/<int:pk>/stop/", jobs.stop, name="job_run_stop"),
    path("operations/runs/<int:pk>/again/", jobs.run_again, name="job_run_again"),
]

notifications = [
    path("channels/", notify.channels, name="channels"),
    path("channels/add/", notify.choose_channel, name="channel_choose"),
    path("channels/add/<slug:kind>/", notify.add_channel, name="channel_add"),
    path("channels/rules/<str:thread>/", notify.rule, name="notification_rule"),
    path("channels/push/key/", push.key, name="push_key"),
    path("sw.js", push.worker, name="push_worker"),
    path("manifest.webmanifest", push.manifest, name="app_manifest"),
    path("channels/<uuid:pk>/", notify.channel, name="channel"),
    path("channels/<uuid:pk>/edit/", notify.edit_channel, name="channel_edit"),
    path("channels/<uuid:pk>/delete/", notify.delete_channel, name="channel_delete"),
    path("channels/<uuid:pk>/test/", notify.test_channel, name="channel_test"),
    path("channels/<uuid:pk>/arrived/", notify.confirm_test, name="channel_arrived"),
    path("channels/<uuid:pk>/secret/", notify.rotate_secret, name="channel_secret"),
    path("deliveries/", notify.delivery_log, name="delivery_log"),
    path("deliveries/replay/", notify.replay_many, name="deliveries_replay"),
    path("deliveries/<int:pk>/", notify.delivery, name="delivery"),
    path("deliveries/<int:pk>/replay/", notify.replay, name="delivery_replay"),
    path("unsubscribe/<str:token>/", notify.unsubscribe_page, name="unsubscribe"),
]

users = [
    path("people/", people.people, name="people"),
    path("people/invite/", people.invite_person, name="people_invite"),
    path("people/invitations/<uuid:pk>/", people.change_invitation, name="invitation_change"),
    path("people/groups/", people.add_group, name="group_add"),
    path("people/groups/<uuid:pk>/", people.group, name="group"),
    path("people/<uuid:pk>/", people.change_person, name="person_change"),
    path("people/<uuid:pk>/remove/", people.remove_person, name="person_remove"),
    path("account/delete/", people.delete_account, name="account_delete"),
    path("accounts/oidc/", entrance.start, name="oidc_start"),
    path("accounts/oidc/callback/", entrance.callback, name="oidc_callback"),
    path("accounts/oidc/signed-out/", entrance.signed_out, name="oidc_signed_out"),
    path("invite/<slug:token>/", entrance.InviteView.as_view(), name="invite"),
]

reading = [
    path("search/", search.search, name="search"),
    path("search/preview/", search.preview_search, name="preview_search"),
    path("search/saved/", search.save_search, name="save_search"),
    path("search/saved/<int:pk>/", search.edit_search, name="edit_search"),
    path("search/saved/<int:pk>/pause/", search.pause_search, name="pause_search"),
    path("search/saved/<int:pk>/remove/", search.remove_search, name="remove_search"),
    path("stream/", stream.stream, name="stream"),
    path("stream/<int:pk>/", stream.open_entry, name="stream_entry"),
    path("stream/new/", stream.new_entries, name="stream_new"),
    path("stream/mark/", stream.mark, name="stream_mark"),
    path("stream/read-all/", stream.read_all, name="stream_read_all"),
    path("stream/items/", selection.selected_items, name="stream_items"),
    path("stream/feeds/", stream.own_feeds, name="stream_feeds"),
    path("stream/feeds/<int:pk>/revoke/", stream.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/stream.atom", stream.feed_atom, name="feed_atom"),
    path("feeds/<str:token>/stream.json", stream.feed_json, name="feed_json"),
    path("add/", sources.add_source, name="add_source"),
]

urlpatterns = [*operations, *notifications, *users, *reading]
