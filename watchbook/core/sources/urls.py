"""Address of the page Add source."""

from __future__ import annotations

from django.urls import path

from watchbook.core.sources import views

urlpatterns = [path("add/", views.add_source, name="add_source")]
