from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "watchbook.core.api"
    label = "api"
