from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "watchbook.core.accounts"
    label = "accounts"

    def ready(self) -> None:
        from watchbook.core.accounts import adapter  # receivers need the models to be loaded

        adapter.connect()
