from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "watchbook.core.jobs"
    label = "jobs"
