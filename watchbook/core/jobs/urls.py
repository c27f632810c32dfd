"""Addresses of the jobs pages, all under Operations."""

from __future__ import annotations

from django.urls import path

from watchbook.core.jobs import views

urlpatterns = [
    path("operations/jobs/", views.board_page, name="jobs"),
    path("operations/jobs/live/", views.live, name="jobs_live"),
    path("operations/jobs/pause/", views.pause_all, name="jobs_pause"),
    path("operations/jobs/<str:name>/", views.job_page, name="job"),
    path("operations/jobs/<str:name>/run/", views.run_now, name="job_run_now"),
    path("operations/jobs/<str:name>/pause/", views.pause_one, name="job_pause"),
    path("operations/runs/", views.runs_page, name="job_runs"),
    path("operations/runs/<int:pk>/", views.run_page, name="job_run"),
    path("operations/runs/<int:pk>/live/", views.run_live, name="job_run_live"),
    path("operations/runs/<int:pk>/stop/", views.stop, name="job_run_stop"),
    path("operations/runs/<int:pk>/again/", views.run_again, name="job_run_again"),
]
