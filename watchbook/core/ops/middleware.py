"""What every request meets first: its id, its true address, and the headers that every answer carries."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Mapping

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from watchbook.base.env import WrongSetting
from watchbook.base.logs import known, request_id
from watchbook.base.logs.names import hides

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
        given = request_id.accept(request.META.get("HTTP_X_REQUEST_ID"))
        # Django still has a word to say about the request when we are done, so this is ended by the next one.
        known.begin_here()
        with request_id.using(given) as value:
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
        """The key of a reset link or of a feed stands in the path: nothing that this request logs may show it."""
        for name, value in kwargs.items():
            if hides(name):
                known.remember_here(str(value))


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
        # Static files come with their own; whatever else left it open is a page somebody may be signed in to.
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
        if self._is_trusted(meta.get("REMOTE_ADDR", "")):
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


def networks(words: Iterable[str]) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(word, strict=False) for word in words)
    except ValueError as error:
        raise WrongSetting(f"WATCHBOOK_TRUSTED_PROXIES: {error}") from None


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
