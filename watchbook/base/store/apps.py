from django.apps import AppConfig
from django.db.backends.signals import connection_created

from watchbook.base.store.private import close_to_others


class StoreConfig(AppConfig):
    name = "watchbook.base.store"
    label = "store"

    def ready(self) -> None:
        connection_created.connect(close_to_others)
