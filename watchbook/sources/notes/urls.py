"""Addresses of the pages of notes. Stream, search and alerts already name the first of each kind."""

from __future__ import annotations

from django.urls import path

from watchbook.sources.notes.views import alerts, candidates, cookie, cookies, doing, executions, keywords, live, notes

app_name = "notes"

urlpatterns = [
    path("", candidates.candidates, name="candidates"),
    path("candidates/add/", candidates.add, name="add_candidates"),
    path("candidates/again/", doing.try_again, name="try_again"),
    path("collect/", doing.collect, name="collect"),
    path("live/", live.live, name="live"),
    path("notes/", notes.notes, name="notes"),
    path("note/<str:note_id>/", notes.note, name="note"),
    path("note/<str:note_id>/forget/", notes.forget, name="forget"),
    path("keywords/", keywords.keywords, name="keywords"),
    path("keywords/add/", keywords.add, name="add_keyword"),
    path("keywords/<int:pk>/<slug:step>/", keywords.step, name="keyword_step"),
    path("cookies/", cookies.cookies, name="cookies"),
    path("cookies/add/", cookies.add, name="add_cookie"),
    path("cookies/rotate/", cookies.rotate, name="rotate"),
    path("cookies/breaker/", cookies.close_breaker, name="close_breaker"),
    path("cookies/<int:pk>/", cookie.cookie, name="cookie"),
    path("cookies/<int:pk>/replace/", cookie.replace, name="replace_cookie"),
    path("cookies/<int:pk>/limits/", cookie.limits, name="cookie_limits"),
    path("cookies/<int:pk>/<slug:step>/", cookie.step, name="cookie_step"),
    path("executions/", executions.executions, name="executions"),
    path("executions/<str:execution_id>/", executions.execution, name="execution"),
    path("alerts/", alerts.alerts, name="alerts"),
]
