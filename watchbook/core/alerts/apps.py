from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "watchbook.core.alerts"
    label = "alerts"
