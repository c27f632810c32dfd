"""Options for fetching."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from watchbook import __version__
from watchbook.base.env import Option, text, words

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


# Cached: options are read at every request, and the environment rarely changes.
@lru_cache(maxsize=16)
def read_pairs(raw: str) -> frozenset[tuple[str, int]]:
    return frozenset(_pair(word) for word in words(raw))


def _pair(word: str) -> tuple[str, int]:
    host, _, port = word.rpartition(":")
    host = host.removeprefix("[").removesuffix("]").rstrip(".").lower()
    if not host or not _is_port(port):
        raise ValueError(f"{word} is not host:port")
    try:
        return str(ipaddress.ip_address(host)), int(port)
    except ValueError:
        return host, int(port)


def _is_port(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 5 and 0 < int(word) < 65536


@lru_cache(maxsize=16)
def read_networks(raw: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(word, strict=False) for word in words(raw))


@lru_cache(maxsize=16)
def read_ports(raw: str) -> frozenset[int]:
    for word in words(raw):
        if not _is_port(word):
            raise ValueError(f"{word} is not a port")
    return frozenset(int(word) for word in words(raw))


USER_AGENT = Option(
    "WATCHBOOK_USER_AGENT", text, default=f"Watchbook/{__version__} (self-hosted page watcher)",
    help="The User-Agent header of requests to sites.",
)  # fmt: skip
TRUSTED_HOSTS: Option[frozenset[tuple[str, int]]] = Option(
    "WATCHBOOK_TRUSTED_HOSTS", read_pairs, default=frozenset(),
    help="host:port pairs, comma-separated, that may be fetched although they are private or use another port.",
)  # fmt: skip
TRUSTED_NETWORKS: Option[tuple[Network, ...]] = Option(
    "WATCHBOOK_TRUSTED_NETWORKS", read_networks, default=(),
    help="Private networks (CIDR, comma-separated) that may be fetched. Empty: none.",
)  # fmt: skip
EXTRA_PORTS: Option[frozenset[int]] = Option(
    "WATCHBOOK_EXTRA_PORTS", read_ports, default=frozenset(),
    help="Ports, comma-separated, that may be fetched besides 80 and 443.",
)  # fmt: skip
CA_FILE = Option(
    "WATCHBOOK_CA_FILE", text, default="",
    help="PEM file of certificate authorities trusted besides the public ones.",
)  # fmt: skip
PACE = Option(
    "WATCHBOOK_PACE", text, default="on", choices=("on", "off"),
    help="off: no delay between requests to trusted hosts. Pauses that a site asks for still apply.",
)  # fmt: skip
REDIS_URL = Option(
    "REDIS_URL", text, default="", secret=True,
    help="Shared cache and shared rate limits. Empty: the database holds both.",
)  # fmt: skip
