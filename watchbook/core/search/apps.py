from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "watchbook.core.search"
    label = "search"
