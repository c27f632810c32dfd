"""Request ids, security headers, trusted proxies, and the response to a request that failed."""

from __future__ import annotations

import ipaddress
import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from watchbook.base.env import InvalidSetting
from watchbook.base.logs import accept_request_id, redact, using_request_id
from watchbook.base.logs.redact import hides
from watchbook.base.store.blobs import BlobError
from watchbook.base.store.folder import disk_usage
from watchbook.core.accounts.options import REMOTE_USER_HEADER
from watchbook.core.api.errors import RETRY_SECONDS
from watchbook.kit import errors

log = logging.getLogger("watchbook.requests")

GetResponse = Callable[[HttpRequest], HttpResponseBase]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED = (
    "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_SSL", "HTTP_X_REAL_IP", "HTTP_FORWARDED",
)  # fmt: skip
# Asked every few seconds by machines.
QUIET_PATHS = ("/static/", "/healthz", "/readyz", "/metrics", "/operations/jobs/live/")
# For answers that no page made: static files, errors before the page. Pages carry the policy of the settings.
BARE_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PERMISSIONS = (
    "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), "
    "magnetometer=(), microphone=(), midi=(), payment=(), usb=(), xr-spatial-tracking=()"
)


class RequestId:
    """Takes a well-formed X-Request-ID, else makes one; it is in every log line and in the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # From META: request.headers is a copy that would keep what TrustedProxy blanks.
        given = accept_request_id(request.META.get("HTTP_X_REQUEST_ID"))
        # Django still has a word to say about the request when we are done, so this is ended by the next one.
        redact.begin_here()
        with using_request_id(given) as value:
            request.request_id = value  # type: ignore[attr-defined]
            began = time.monotonic()
            response = self.get_response(request)
            response.headers["X-Request-ID"] = value
            # Without the query: it holds what people search for.
            level = logging.DEBUG if request.path.startswith(QUIET_PATHS) else logging.INFO
            took = round((time.monotonic() - began) * 1000)
            log.log(level, "%s %s %s %s ms", request.method, request.path, response.status_code, took)
            return response

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: Mapping[str, object]) -> None:
        """The key of a reset link or of a feed is part of the path: nothing that this request logs may show it."""
        for name, value in kwargs.items():
            if hides(name):
                redact.remember_here(str(value))


class SecurityHeaders:
    """Headers for every answer, static files and errors included. What a view set itself stays."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        headers.setdefault("Permissions-Policy", PERMISSIONS)
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Referrer-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        headers.setdefault("Content-Security-Policy", BARE_POLICY)
        # Static files come with their own; any other response may be a page for a signed-in user.
        headers.setdefault("Cache-Control", "private, no-store")
        return response


class TrustedProxy:
    """Believes X-Forwarded-For and -Proto from the proxies of the settings only.

    Afterwards the headers are blank, so that nothing further in can believe them; that they were there stays visible,
    because a request that came through some proxy is not one from this machine.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.networks = networks(settings.TRUSTED_PROXIES)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        given = {name: meta.get(name, "") for name in FORWARDED}
        meta.update({name: "" for name in FORWARDED if name in meta})
        request.is_from_proxy = self._is_trusted(meta.get("REMOTE_ADDR", ""))  # type: ignore[attr-defined]
        if request.is_from_proxy:  # type: ignore[attr-defined]
            meta["REMOTE_ADDR"] = self._client(given["HTTP_X_FORWARDED_FOR"], meta["REMOTE_ADDR"])
            scheme = given["HTTP_X_FORWARDED_PROTO"].rsplit(",", 1)[-1].strip().lower()
            if scheme in {"http", "https"}:
                meta["wsgi.url_scheme"] = scheme
        return self.get_response(request)

    def _client(self, forwarded_for: str, peer: str) -> str:
        """The nearest address that is no proxy of ours. What stands left of it may be made up by the client."""
        nearest = peer
        for hop in reversed(forwarded_for.split(",")[-20:]):
            address = read_address(hop)
            if address is None:
                return nearest
            nearest = str(address)
            if not self._is_trusted(nearest):
                return nearest
        return nearest

    def _is_trusted(self, text: str) -> bool:
        address = read_address(text)
        return address is not None and any(address in network for network in self.networks)


class RemoteUser:
    """Signs in the user whom a trusted proxy names in the header of the settings. From others it is not read."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if header := REMOTE_USER_HEADER.value:
            given = request.META.pop("HTTP_" + header.upper().replace("-", "_"), "")
            if getattr(request, "is_from_proxy", False):
                from watchbook.core.people import single_sign_on  # only where the option is set

                single_sign_on.follow(request, given)
        return self.get_response(request)


def networks(words: Iterable[str]) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(word, strict=False) for word in words)
    except ValueError as error:
        raise InvalidSetting(f"WATCHBOOK_TRUSTED_PROXIES: {error}") from None


def read_address(text: str) -> Address | None:
    """An address with or without brackets and port; an IPv4 address in IPv6 clothes is the IPv4 address."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond 503 when the database is down or busy, and name a full disk; other errors stay 500."""
    is_database = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    if is_database and disk_usage().is_full:
        return errors.server_error(request, errors.DISK_FULL)
    if isinstance(sys.exc_info()[1], BlobError):
        return errors.server_error(request, errors.CONTENT_MISSING)
    response = errors.server_error(request)
    if is_database:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


class Compression(GZipMiddleware):
    """Compress text for browsers that accept it.

    Only responses to GET: pages that show a secret once are responses to POST. Django adds random bytes to each
    response, so that its length reveals nothing about a secret in it (BREACH).
    """

    types = ("text/", "application/json", "application/javascript", "application/atom+xml", "application/feed+json",
             "application/manifest+json", "image/svg+xml")  # fmt: skip

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "")
        is_stream = kind.startswith("text/event-stream") or response.has_header("Content-Range")
        if request.method != "GET" or is_stream or not kind.startswith(self.types):
            return response
        return super().process_response(request, response)
