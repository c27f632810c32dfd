from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "watchbook.core.accounts"
    label = "accounts"

    def ready(self) -> None:
        from watchbook.core.accounts import signals  # receivers need the models to be loaded

        signals.connect()
