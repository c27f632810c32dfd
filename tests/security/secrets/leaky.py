"""The program with mistakes in it that tell everything they know: `python -m tests.security.secrets.leaky web`.

An error whose text holds every secret of the installation is raised in a page, in an endpoint, in a job, in a sender
and in a thread. None of it may reach a log, a row or an answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NoReturn

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")


class Leaky:
    """Middleware: an error that quotes the whole request."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        if "leak" in request.GET:
            quoted = f"{dict(request.headers)} {request.COOKIES} {request.META} {request.POST} {request.body!r}"
            raise RuntimeError(f"{quoted} {everything()}")
        return self.get_response(request)


def everything() -> str:
    from django.conf import settings

    return (
        f"{settings.SECRET_KEY} {settings.SECRETS_KEYS} {settings.DATABASES} {settings.CACHES} "
        f"{settings.EMAIL_HOST_PASSWORD} {dict(os.environ)}"
    )


def tell_all(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(f"{args} {kwargs} {everything()}")


def spoil() -> None:
    from django.conf import settings

    from watchbook.base.web.client import send
    from watchbook.core.notify import http
    from watchbook.core.stream import api, entries, views

    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.security.secrets.leaky.Leaky"]
    views.viewer_scopes = api.viewer_scopes = tell_all  # type: ignore[assignment]
    entries.clean_old_entries = tell_all
    http.client.send = lambda method, url, *args, **kwargs: (  # type: ignore[assignment]
        (tell_all if "/raise/" in url else send)(method, url, *args, **kwargs)
    )
    threading.Timer(1, tell_all).start()


def main() -> None:
    from watchbook.project import cli

    cli._prepare()
    spoil()
    cli.program.main(prog_name="watchbook")


if __name__ == "__main__":
    main()
