from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_save


class StreamConfig(AppConfig):
    name = "watchbook.core.stream"
    label = "stream"

    def ready(self) -> None:
        from watchbook.core.stream import reading  # receivers need the models to be loaded

        post_save.connect(
            reading.start_for_new_user, sender=settings.AUTH_USER_MODEL, dispatch_uid="stream.reading.start"
        )
