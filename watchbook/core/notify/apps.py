from django.apps import AppConfig


class NotifyConfig(AppConfig):
    name = "watchbook.core.notify"
    label = "notify"

    def ready(self) -> None:
        from watchbook.core.notify import push  # receivers need the models to be loaded

        push.connect()
