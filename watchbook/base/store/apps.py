from django.apps import AppConfig


class StoreConfig(AppConfig):
    name = "watchbook.base.store"
    label = "store"
