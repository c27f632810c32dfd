from django.apps import AppConfig


class SourcesConfig(AppConfig):
    name = "watchbook.core.sources"
    label = "sources"
