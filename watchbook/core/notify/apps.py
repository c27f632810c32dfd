from django.apps import AppConfig


class NotifyConfig(AppConfig):
    name = "watchbook.core.notify"
    label = "notify"
