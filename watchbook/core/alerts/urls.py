"""Address of the alerts page."""

from __future__ import annotations

from django.urls import path

from watchbook.core.alerts import views

urlpatterns = [path("alerts/", views.alerts, name="alerts")]
