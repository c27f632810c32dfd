"""Addresses of the search page."""

from __future__ import annotations

from django.urls import path

from watchbook.core.search import views

urlpatterns = [
    path("search/", views.search, name="search"),
    path("search/preview/", views.preview_search, name="preview_search"),
    path("search/saved/", views.save_search, name="save_search"),
    path("search/saved/<int:pk>/", views.edit_search, name="edit_search"),
    path("search/saved/<int:pk>/pause/", views.pause_search, name="pause_search"),
    path("search/saved/<int:pk>/remove/", views.remove_search, name="remove_search"),
]
