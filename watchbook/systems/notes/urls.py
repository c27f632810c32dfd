"""URLs of the notes pages."""

from __future__ import annotations

from django.urls import path

from watchbook.systems.notes import views
from watchbook.systems.notes.views import candidates, cookies, creators, executions, keywords, notes

app_name = "notes"

urlpatterns = [
    path("", candidates.candidates, name="candidates"),
    path("candidates/add/", candidates.add, name="add_candidates"),
    path("candidates/retry/", candidates.retry_failed, name="retry_failed"),
    path("collect/", candidates.collect, name="collect"),
    path("live/", views.live, name="live"),
    path("notes/", notes.notes, name="notes"),
    path("notes/selected/", notes.selected_notes, name="selected_notes"),
    path("note/<str:note_id>/", notes.note, name="note"),
    path("note/<str:note_id>/source/", notes.source, name="source"),
    path("note/<str:note_id>/read/", notes.read_again, name="read_again"),
    path("note/<str:note_id>/delete/", notes.delete, name="delete"),
    path("comments/", notes.comments, name="comments"),
    path("keywords/", keywords.keywords, name="keywords"),
    path("keywords/add/", keywords.add_keyword, name="add_keyword"),
    path("keywords/<int:pk>/", keywords.keyword, name="keyword"),
    path("keywords/<int:pk>/delete/", keywords.delete_keyword, name="delete_keyword"),
    path("keywords/<int:pk>/<slug:step>/", keywords.keyword_step, name="keyword_step"),
    path("creators/", creators.creators, name="creators"),
    path("creators/add/", creators.add_creator, name="add_creator"),
    path("creators/<int:pk>/", creators.creator, name="creator"),
    path("creators/<int:pk>/settings/", creators.settings, name="creator_settings"),
    path("creators/<int:pk>/delete/", creators.delete_creator, name="delete_creator"),
    path("creators/<int:pk>/profile/", creators.profile, name="creator_profile"),
    path("creators/<int:pk>/<slug:step>/", creators.creator_step, name="creator_step"),
    path("cookies/", cookies.cookies, name="cookies"),
    path("cookies/add/", cookies.add, name="add_cookie"),
    path("cookies/rotate/", cookies.rotate, name="rotate"),
    path("cookies/breaker/", cookies.close_breaker, name="close_breaker"),
    path("cookies/<int:pk>/", cookies.cookie, name="cookie"),
    path("cookies/<int:pk>/replace/", cookies.replace, name="replace_cookie"),
    path("cookies/<int:pk>/limits/", cookies.limits, name="cookie_limits"),
    path("cookies/<int:pk>/<slug:step>/", cookies.step, name="cookie_step"),
    path("executions/", executions.executions, name="executions"),
    path("executions/<str:execution_id>/", executions.execution, name="execution"),
    path("alerts/", executions.alerts, name="alerts"),
]
