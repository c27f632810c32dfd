"""Which addresses belong to the public Internet.

The flags of the ipaddress module differ between Python versions and let metadata services and IPv4 in disguise
through, so the list is written out here.
"""

from __future__ import annotations

import ipaddress

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

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
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")  # all that has ever been given out
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
