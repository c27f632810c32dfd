"""Parses and checks URLs, host names and IP addresses.

The product connects to what `check_url` returns and parses the text only once. Host names are checked for their
spelling here; the addresses they resolve to are checked in `transport` when the connection is opened.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urljoin

from watchbook.base.web import options
from watchbook.base.web.errors import Refused, gettext_noop

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Written out: the flags of the ipaddress module differ between Python versions, and let metadata services and embedded
# IPv4 addresses through.
_NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier networks; 100.100.100.200 is a metadata service
            "127.0.0.0/8",
            "168.63.129.16/32",  # a cloud's wire server inside a public range
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",  # 192.0.0.192 is a metadata service
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")  # all assigned addresses
_NOT_PUBLIC_6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "::/96",  # unspecified, loopback, IPv4-compatible
            "::ffff:0:0/96",  # IPv4-mapped
            "::ffff:0:0:0/96",  # IPv4-translated
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3fff::/20",
            "5f00::/16",
            "fc00::/7",
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)
_ISATAP = (0x00005EFE, 0x02005EFE)  # an IPv4 address in the last 32 bits, behind any prefix


def is_public(ip: IPAddress | str) -> bool:
    address = ipaddress.ip_address(ip) if isinstance(ip, str) else ip
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address not in _UNICAST_6 or address.scope_id is not None:
        return False
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


MAX_HOST = 253
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LOOKS_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")


def ascii_host(text: str) -> tuple[str, IPAddress | None] | tuple[None, None]:
    """Return the canonical host and the address of an IP literal; (None, None) if the text is not a host.

    Only strict dotted quads are IPv4 addresses; every other spelling that resolvers read as a number is refused.
    """
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
    # Digits of another script are refused, wherever the address leads.
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
    """Return the punycode by IDNA 2008, or an empty text."""
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


MAX_URL = 2048
MAX_TARGET = 8192  # percent-encoding makes up to nine characters of one
PORTS = {"http": 80, "https": 443}

# Names reserved for private networks.
LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa")

MESSAGES = {
    "too_long": gettext_noop("The address is too long."),
    "bad_character": gettext_noop("The address contains a space, a backslash or an invisible character."),
    "bad_scheme": gettext_noop(
        "Only http and https addresses are allowed: the address must begin with http:// or https://."
    ),
    "userinfo": gettext_noop("The address must not contain a user name or password."),
    "bad_host": gettext_noop("The address has no valid host name."),
    "bad_port": gettext_noop("This port is not allowed. Allowed are 80, 443 and those that the operator has added."),
    "private_address": gettext_noop("The address leads into a private network."),
    "own_address": gettext_noop("The address belongs to this server."),
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_INVISIBLE = re.compile("[\x00-\x20\x7f-\xa0\\\\\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff]")
_UNSAFE_IN_PATH = re.compile(rb"[^!$-;=@-_a-z~?|]")


@dataclass(frozen=True)
class SafeUrl:
    """A checked URL. The host is ASCII (punycode), lower-case, without brackets or final dot."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @cached_property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def site(self) -> str:
        """The key of the rate limit: http and https of one host are the same server."""
        return self.host if self.port in PORTS.values() else f"{self.host}:{self.port}"

    @property
    def shown(self) -> str:
        """The URL for logs: without the query, which may hold a secret."""
        path, mark, _ = self.target.partition("?")
        return f"{self.authority}{path[:200]}{'?…' if mark else ''}"

    def __str__(self) -> str:
        return self.url


def refuse(code: str, detail: str = "") -> Refused:
    return Refused(detail, code=code, message=MESSAGES[code])


def check_url(text: str, *, own_url: str | None = None) -> SafeUrl:
    """Parse and check a URL; raise Refused with a code and a message. `own_url` is refused as well."""
    if len(text) > MAX_URL:
        raise refuse("too_long")
    if _INVISIBLE.search(text):
        raise refuse("bad_character")
    scheme, rest = _split_scheme(text)
    authority, target = _split_authority(rest)
    host, ip, port = _read_authority(authority, PORTS[scheme])
    url = SafeUrl(scheme, host, port, _encode(target))
    if len(url.target) > MAX_TARGET:
        raise refuse("too_long")
    if own_url and _is_same_server(url, own_url):
        raise refuse("own_address")
    if not is_trusted(host, port):
        _check_destination(host, ip, port)
    return url


def follow_url(base: SafeUrl, location: str) -> SafeUrl:
    """Return the checked URL of a Location header (given as latin-1 text)."""
    if len(location) > MAX_URL:
        raise refuse("too_long")
    # Servers do send spaces and raw letters there.
    location = _letters(location.strip(" \t").replace(" ", "%20"))
    if _INVISIBLE.search(location):
        raise refuse("bad_character")
    try:
        return check_url(urljoin(base.url, location))
    except ValueError:  # urljoin refuses some brackets itself
        raise refuse("bad_host") from None


def is_trusted(host: str, port: int) -> bool:
    """Return whether the operator trusts this host and port."""
    return (host, port) in options.TRUSTED_HOSTS.value


def may_connect(ip: IPAddress) -> bool:
    return is_public(ip) or any(ip in network for network in options.TRUSTED_NETWORKS.value)


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    scheme = match.group(1).lower() if match else ""
    if scheme not in PORTS or not text.startswith("//", len(scheme) + 1):
        raise refuse("bad_scheme")
    return scheme, text[len(scheme) + 3 :]


def _split_authority(rest: str) -> tuple[str, str]:
    """Split into authority and target, without the fragment."""
    rest = rest.partition("#")[0]
    ends = [at for at in (rest.find("/"), rest.find("?")) if at >= 0]
    cut = min(ends, default=len(rest))
    target = rest[cut:]
    return rest[:cut], target if target.startswith("/") else "/" + target


def _read_authority(authority: str, default_port: int) -> tuple[str, IPAddress | None, int]:
    if "@" in authority:
        raise refuse("userinfo")
    is_bracketed = authority.startswith("[")
    end = authority.find("]") + 1 if is_bracketed else 0
    after, _, port = authority[end:].partition(":")
    if is_bracketed and (not end or after):
        raise refuse("bad_host")
    host = authority[:end] if is_bracketed else after
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise refuse("bad_port")
    name, ip = ascii_host(host)
    if name is None:
        raise refuse("bad_host")
    return name, ip, int(port) if port else default_port


def _check_destination(host: str, ip: IPAddress | None, port: int) -> None:
    if port not in PORTS.values() and port not in options.EXTRA_PORTS.value:
        raise refuse("bad_port")
    if ip is not None and not may_connect(ip):
        raise refuse("private_address")
    # Where the operator trusts a network, local names may lead there: the resolved address decides.
    if ip is None and not options.TRUSTED_NETWORKS.value and _is_local_name(host):
        raise refuse("private_address")


def _is_local_name(host: str) -> bool:
    return any(host == name or host.endswith("." + name) for name in LOCAL_NAMES)


def _is_same_server(url: SafeUrl, own_url: str) -> bool:
    scheme, rest = _split_scheme(own_url)
    host, _, port = _read_authority(_split_authority(rest)[0], PORTS[scheme])
    same_port = url.port == port or {url.port, port} <= set(PORTS.values())
    return url.host == host and same_port


def _letters(header: str) -> str:
    raw = header.encode("latin-1", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return re.sub(rb"[\x80-\xff]", lambda match: b"%%%02X" % match.group()[0], raw).decode("ascii")


def _encode(target: str) -> str:
    """Percent-encode what a request line must not contain, as browsers do; the rest stays as it is."""
    raw = target.encode("utf-8", "replace")
    return _UNSAFE_IN_PATH.sub(lambda match: b"%%%02X" % match.group()[0], raw).decode("ascii")
