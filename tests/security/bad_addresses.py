"""Addresses that must never be dialled, numbered U1 to U92 so that a failure has a name, and some that may be.

`at` is put behind every host that is meant to be reached, such as ":8080": a canary can then listen there, so that it
is the address and not the port that is refused.
"""

from __future__ import annotations

TAB, LF, BOM, ZERO_WIDTH = "\t", "\n", "\ufeff", "\u200b"


def literal(at: str = "") -> dict[str, str]:
    """Refused for what they are: no name has to be looked up."""
    return {**_plain(at), **_metadata(at), **_spellings(at), **_ipv6(at), **_parsers(at), **_schemes(at), **_names(at)}


def _plain(at: str) -> dict[str, str]:
    hosts = (
        "127.0.0.1", "localhost", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1",
        "192.0.2.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    )  # fmt: skip
    found = {f"U{number}": f"http://{host}{at}/" for number, host in enumerate(hosts, 1)}
    return {**found, "U2": f"http://localhost{at or ':8000'}/admin/"}


def _metadata(at: str) -> dict[str, str]:
    return {
        "U13": f"http://169.254.170.2{at}/v2/credentials",
        "U13 aws": f"http://169.254.169.254{at}/latest/meta-data/",
        "U14": f"http://169.254.170.23{at}/",
        "U15": f"http://[fd00:ec2::254]{at}/",
        "U16": f"http://metadata.google.internal{at}/computeMetadata/v1/",
        "U17": f"http://192.0.0.192{at}/opc/v2/",
        "U18": f"http://168.63.129.16{at}/machine?comp=goalstate",
        "U19": f"http://100.64.0.1{at}/",
        "U19 alibaba": f"http://100.100.100.200{at}/latest/meta-data/",
    }


def _spellings(at: str) -> dict[str, str]:
    hosts = {
        "U20": "2130706433",
        "U20 hex": "0x7f000001",
        "U21": "0177.0.0.1",
        "U22": "127.1",
        "U22 zero": "0",
        "U23": "0x7f.1",
        "U24": "00000177.0.0.1",
        "U25": "0xa9fea9fe",
        "U26": "0251.0376.0251.0376",
        "U27": "①②⑦.⓪.⓪.①",
        "U28": "127。0。0。1",
        "U29": "localhost.",
        "U31": "%31%32%37.0.0.1",
    }
    return {number: f"http://{host}{at}/" for number, host in hosts.items()}


def _ipv6(at: str) -> dict[str, str]:
    hosts = (
        "::1", "::ffff:127.0.0.1", "0:0:0:0:0:ffff:7f00:1", "::127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
        "2001:0:7f00:1::", "fe80::1%25lo", "fec0::1", "ff02::1",
    )  # fmt: skip
    return {f"U{number}": f"http://[{host}]{at}/" for number, host in enumerate(hosts, 32)}


def _parsers(at: str) -> dict[str, str]:
    inside = f"127.0.0.1{at}"
    return {
        "U42": rf"http://127.0.0.1{at or ':80'}\@example.com/",
        "U43": rf"http://example.com\@{inside}/",
        "U44": f"http://example.com@{inside}/",
        "U45": f"http://a:b@127.0.0.1{at or ':80'}@example.com/",
        "U46": f"http://{inside}#@example.com/",
        "U47": f"http://{inside}?@example.com/",
        "U48": f"http://{inside}%2f@example.com/",
        "U49": f"http://127.0.0.1{TAB}.example.com{at}/",
        "U50": f"http://exa{LF}mple.com{at}/",
        "U51 space": f" http://{inside}/",
        "U51 BOM": f"{BOM}http://example.com{at}/",
        "U51 zero width": f"{ZERO_WIDTH}http://example.com{at}/",
        "U52": f"http:///{inside}/",
        "U53": f"//{inside}/",
        "U54": "http://[::1",
        "U55": "http://]/",
        "U56": "http://[v1.x]/",
        "U57": f"http://127.0.0.1,example.com{at}/",
    }


def _schemes(at: str) -> dict[str, str]:
    return {
        "U58": "http://example.com:22/",
        "U59": "http://example.com:25/",
        "U60": "http://example.com:6379/",
        "U61": "http://example.com:0/",
        "U62": "http://example.com:99999/",
        "U63": "http://example.com:80:80/",
        "U64": "file:///etc/passwd",
        "U64 one slash": "file:/etc/passwd",
        "U65": "source:file:///etc/passwd",
        "U66": f"gopher://127.0.0.1{at or ':6379'}/_FLUSHALL",
        "U67": f"dict://127.0.0.1{at or ':11211'}/",
        "U68": f"ftp://127.0.0.1{at}/",
        "U69": "jar:http://a!/",
        "U70": "data:text/html,x",
        "U71": "javascript:alert(1)",
        "U71 space": " javascript:alert(1)",
        "U71 tab": "java\tscript:alert(1)",
        "U71 encoded": "%20javascript:alert(1)",
        "U72": "unix:///var/run/docker.sock",
    }


def _names(at: str) -> dict[str, str]:
    """U87 and U88: refused before anybody is asked what they mean."""
    return {
        "U87 host": f"http://{'a.' * 126}example{at}/",
        "U87 label": f"http://{'a' * 64}.example{at}/",
        "U87 levels": f"http://{'a.' * 900}example{at}/",
        "U88": f"http://xn--a{at}/",
        "U88 overflow": f"http://xn--99999999999{at}/",
        "inner name": f"http://printer.local{at}/",
    }


# What a name resolves to; each of these is refused when it is dialled, and no address of it is tried.
PUBLIC_4, PUBLIC_6 = "93.184.216.34", "2606:4700::1111"
NAMES: dict[str, tuple[str, list[str]]] = {
    "U30": ("127.0.0.1.nip.io", ["127.0.0.1"]),
    "U74": ("two-answers.example", [PUBLIC_4, "10.0.0.7"]),
    "U75": ("two-families.example", [PUBLIC_4, "::1"]),
    "U76": ("alias-of-localhost.example", ["127.0.0.1", "::1"]),
    "U82 name": ("metadata.example", ["169.254.169.254"]),
    "mapped": ("mapped.example", ["::ffff:127.0.0.1"]),
    "scope": ("scoped.example", ["fe80::1%lo"]),
}


def named(at: str = "") -> dict[str, str]:
    """Refused for what their names resolve to."""
    return {number: f"http://{host}{at}/" for number, (host, _addresses) in NAMES.items()}


# What a redirect may say; the list above is tried as well.
LOCATIONS = {
    "U77 no scheme": "//127.0.0.1{at}/",
    "U77 backslashes": "\\\\127.0.0.1{at}/",
    "U77 one slash": "/\\127.0.0.1{at}/",
    "U77 relative with a host": "http:127.0.0.1{at}",
    "U77 empty": "",
    "U77 long": "/" + "a" * 10_000,
    "U77 spaces": "http://127.0.0.1{at} /",
}

# May be watched and may be told. Nothing is dialled when a webhook is saved, so these need nobody to answer.
POSITIVE = (
    "https://example.com:443/",
    "https://bücher.example/sitemap.xml",
    "https://例子.测试/",
    "http://[2606:4700::1111]/",
    "https://example.com/@somebody/feed@home?at=a@b",
    "https://example.com/a%20b",
    "https://example.com:8443/hook",
)
