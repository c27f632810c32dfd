"""Host names: one spelling each, or none.

Only strict dotted quads are IPv4 addresses; every other spelling that a resolver would take for a number is refused.
"""

from __future__ import annotations

import ipaddress
import re

from watchbook.base.web.networks import IPAddress

MAX_HOST = 253
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LOOKS_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")


def ascii_host(text: str) -> tuple[str, IPAddress | None] | tuple[None, None]:
    """Canonical host and, if it is an address literal, the address. (None, None) if it is not a host."""
    if text.startswith("["):
        return _ipv6(text)
    if len(text) > 4 * MAX_HOST:
        return None, None
    host = text.lower() if text.isascii() else _from_unicode(text)
    host = host.removesuffix(".")
    labels = host.split(".")
    if not host or len(host) > MAX_HOST or not all(map(_is_label, labels)):
        return None, None
    if not _LOOKS_NUMERIC.fullmatch(labels[-1]):
        return host, None
    # A number in letters of another script is a disguise, whatever it points to.
    return _ipv4(host) if text.isascii() else (None, None)


def _ipv6(text: str) -> tuple[str, IPAddress | None] | tuple[None, None]:
    try:
        ip = ipaddress.IPv6Address(text[1:-1] if text.endswith("]") else "")
    except ValueError:
        return None, None
    return (str(ip), ip) if ip.scope_id is None else (None, None)


def _ipv4(host: str) -> tuple[str, IPAddress | None] | tuple[None, None]:
    try:
        return host, ipaddress.IPv4Address(host)
    except ValueError:
        return None, None


def _from_unicode(text: str) -> str:
    """Punycode by IDNA 2008, or an empty text."""
    import idna  # its tables are large and few hosts need them

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return ""


def _is_label(label: str) -> bool:
    if not _LABEL.fullmatch(label):
        return False
    return not label.startswith("xn--") or _is_punycode(label)


def _is_punycode(label: str) -> bool:
    import idna  # its tables are large and few hosts need them

    try:
        return idna.alabel(idna.ulabel(label)).decode("ascii") == label
    except (idna.IDNAError, UnicodeError):
        return False
