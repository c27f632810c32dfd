"""The first account belongs to whoever controls the machine: it comes from the machine itself, or with the code that
the program prints at start. Nobody else can be first, so a new installation cannot be taken over by a passer-by."""

from __future__ import annotations

import hmac
import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from watchbook.base.crypto import secret_file
from watchbook.core.accounts.models import User

# A reverse proxy on the same machine makes every visitor look local; it betrays itself by one of these.
_TRACES_OF_A_PROXY = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_HOST")


def is_awaited() -> bool:
    """There is no account yet."""
    return not User.objects.exists()


def setup_code() -> str:
    """The code to print at start; made when first asked for."""
    return secret_file(_file(), size=24)


def is_setup_code(given: str) -> bool:
    return hmac.compare_digest(setup_code().encode(), given.strip().encode("utf-8", "replace"))


def spend_setup_code() -> None:
    _file().unlink(missing_ok=True)


def comes_from_this_machine(request: HttpRequest) -> bool:
    """The address is loopback, the host asked for is loopback too, and no proxy stands between."""
    return (
        _is_loopback(request.META.get("REMOTE_ADDR", ""))
        and _is_loopback(urlsplit(f"//{request.get_host()}").hostname or "")
        and not any(name in request.META for name in _TRACES_OF_A_PROXY)
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _file() -> Path:
    return Path(settings.HOME) / "keys" / "setup_code"
