from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "watchbook.core.people"
    label = "people"
