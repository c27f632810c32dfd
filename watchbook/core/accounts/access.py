"""Who may see and do what: scopes, staff pages, the first account, safe redirects, limits on attempts."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from watchbook.base import clock
from watchbook.base.crypto import secret_file
from watchbook.core import registry
from watchbook.core.accounts.models import User

V = TypeVar("V", bound=Callable[..., HttpResponseBase])

MEMBERS = "members"
STAFF = "staff"


def viewer_scopes(user: User | AnonymousUser) -> list[str]:
    """Every scope whose rows this user may see; none for users who are not signed in."""
    if not user.is_authenticated or not user.is_active:
        return []
    own = [MEMBERS, f"user:{user.pk}"]
    if user.is_staff:
        own.append(STAFF)
    for source in registry.sources():
        if source.scopes:
            own += registry.load(source.scopes)(user)
    return own


def person_of(request: HttpRequest) -> User:
    """The account behind a request that only signed-in people make."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def staff_required(view: V) -> V:
    """For views: operators only. A visitor is asked to sign in, a member gets 403."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not getattr(request.user, "is_staff", False):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    guarded.staff_only = True  # type: ignore[attr-defined]
    return guarded  # type: ignore[return-value]


# The first account is created on this machine, or with the code that is printed at start: no one else can take over
# a new server. Behind a reverse proxy on the same machine every visitor looks local; one of these headers shows it.
_TRACES_OF_A_PROXY = ("HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_HOST")


def has_no_users() -> bool:
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


LONGEST_TARGET = 2000

# Browsers drop tabs and line breaks inside an address and read a backslash as a slash.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\\]")


def is_safe_target(target: str) -> bool:
    """Absolute addresses are refused even when they name this host: a path says the same and cannot be spoofed."""
    return (
        0 < len(target) <= LONGEST_TARGET
        and target.startswith("/")
        and not target.startswith("//")
        and not _UNFIT.search(target)
        and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    )


def safe_next(request: HttpRequest, target: str | None, fallback: str = "home") -> str:
    """The target when it is safe, else the fallback (a URL name or a path). Without a target, `next` of the request."""
    if target is None:
        target = request.POST.get("next") or request.GET.get("next") or ""
    return target if is_safe_target(target) else resolve_url(fallback)


def count_use(name: str, key: str, *, seconds: int, by: int = 1) -> int:
    """Count one more and say how many there were in this window, this one included."""
    place = _place(name, key, seconds)
    if cache.add(place, by, seconds):
        return by
    try:
        total = cache.incr(place, by)
    except ValueError:  # it ended between the two calls
        cache.set(place, by, seconds)
        return by
    # The database cache gives a counted value its default lifetime, which may be shorter than the window.
    cache.touch(place, seconds)
    return total


def allow_use(name: str, key: str, *, most: int, seconds: int) -> bool:
    return count_use(name, key, seconds=seconds) <= most


def uses(name: str, key: str, *, seconds: int) -> int:
    """How many were counted in this window."""
    return int(cache.get(_place(name, key, seconds), 0))


def forget_uses(name: str, key: str, *, seconds: int) -> None:
    cache.delete(_place(name, key, seconds))


def seconds_left(seconds: int) -> int:
    """Until the present window ends."""
    return seconds - int(clock.now().timestamp()) % seconds


def _place(name: str, key: str, seconds: int) -> str:
    window = int(clock.now().timestamp()) // seconds
    # What is counted may be an address that people typed: it goes into the cache as a digest, never as it is.
    return f"limit:{name}:{window}:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
