"""The address gate: one parser for URLs, one answer to "may this be dialled?".

What `check_url` returns is what is dialled; nobody parses the text a second time. Names are only checked for their
spelling here; the addresses they resolve to are checked by the guard at the moment of dialling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urljoin

from watchbook.base.web import options
from watchbook.base.web.errors import Refused, gettext_noop
from watchbook.base.web.hosts import ascii_host
from watchbook.base.web.networks import IPAddress, is_public

MAX_URL = 2048
MAX_TARGET = 8192  # percent-encoding makes up to nine characters of one
PORTS = {"http": 80, "https": 443}

# Reserved for private use: outside their own network nobody may answer for them.
LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa")

SENTENCES = {
    "too_long": gettext_noop("The address is too long."),
    "bad_character": gettext_noop("The address contains a space, a backslash or an invisible character."),
    "bad_scheme": gettext_noop(
        "Only http and https addresses are allowed: the address must begin with http:// or https://."
    ),
    "userinfo": gettext_noop("The address must not contain a user name or password."),
    "bad_host": gettext_noop("The address has no valid host name."),
    "bad_port": gettext_noop("This port is not allowed. Allowed are 80, 443 and those that the operator has added."),
    "private_address": gettext_noop("The address leads into a private network."),
    "own_address": gettext_noop("The address leads back to this installation."),
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_INVISIBLE = re.compile("[\x00-\x20\x7f-\xa0\\\\\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff]")
_UNSAFE_IN_PATH = re.compile(rb"[^!$-;=@-_a-z~?|]")


@dataclass(frozen=True)
class SafeUrl:
    """A URL that passed the gate. The host is ASCII (punycode), lower-case, without brackets or final dot."""

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
        """Whom we are polite to: http and https of one host are the same machine."""
        return self.host if self.port in PORTS.values() else f"{self.host}:{self.port}"

    @property
    def shown(self) -> str:
        """For logs: a query may hold a secret, a path hardly ever does."""
        path, mark, _ = self.target.partition("?")
        return f"{self.authority}{path[:200]}{'?…' if mark else ''}"

    def __str__(self) -> str:
        return self.url


def refuse(code: str, detail: str = "") -> Refused:
    return Refused(detail, code=code, message=SENTENCES[code])


def check_url(text: str, *, own_url: str | None = None) -> SafeUrl:
    """Parse and check; raises Refused with a code and a sentence. `own_url` is refused as well."""
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
    if own_url and _is_same_door(url, own_url):
        raise refuse("own_address")
    if not is_trusted(host, port):
        _check_place(host, ip, port)
    return url


def follow_url(base: SafeUrl, location: str) -> SafeUrl:
    """The address that a Location header (as latin-1 text) names, through the same gate."""
    if len(location) > MAX_URL:
        raise refuse("too_long")
    # Servers do send spaces and raw letters there.
    location = _letters(location.strip(" \t").replace(" ", "%20"))
    if _INVISIBLE.search(location):
        raise refuse("bad_character")
    try:
        return check_url(urljoin(base.url, location))
    except ValueError:  # urljoin has its own idea of brackets
        raise refuse("bad_host") from None


def is_trusted(host: str, port: int) -> bool:
    """Did the operator name this very door?"""
    return (host, port) in options.TRUSTED_HOSTS.value


def may_dial(ip: IPAddress) -> bool:
    return is_public(ip) or any(ip in network for network in options.TRUSTED_NETWORKS.value)


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    scheme = match.group(1).lower() if match else ""
    if scheme not in PORTS or not text.startswith("//", len(scheme) + 1):
        raise refuse("bad_scheme")
    return scheme, text[len(scheme) + 3 :]


def _split_authority(rest: str) -> tuple[str, str]:
    """Authority and target; the fragment stays at home."""
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


def _check_place(host: str, ip: IPAddress | None, port: int) -> None:
    if port not in PORTS.values() and port not in options.EXTRA_PORTS.value:
        raise refuse("bad_port")
    if ip is not None and not may_dial(ip):
        raise refuse("private_address")
    # Where the operator trusts a network, its own names may lead there: the address decides.
    if ip is None and not options.TRUSTED_NETWORKS.value and _is_local_name(host):
        raise refuse("private_address")


def _is_local_name(host: str) -> bool:
    return any(host == name or host.endswith("." + name) for name in LOCAL_NAMES)


def _is_same_door(url: SafeUrl, own_url: str) -> bool:
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
    """Percent-encode what must not stand in a request line, as browsers do; everything else stays untouched."""
    raw = target.encode("utf-8", "replace")
    return _UNSAFE_IN_PATH.sub(lambda match: b"%%%02X" % match.group()[0], raw).decode("ascii")
