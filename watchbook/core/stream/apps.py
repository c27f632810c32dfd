from django.apps import AppConfig


class StreamConfig(AppConfig):
    name = "watchbook.core.stream"
    label = "stream"
