"""Run inside a network namespace of its own: every inner address really exists there, and a canary listens on port 80.

`unshare --map-root-user --net python -m tests.security.inner_network` prints what the command said of each address, how
often somebody knocked, and how often when the operator allowed one of the networks.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

from tests.security import bad_addresses as bad

ADDRESSES = (
    "10.0.0.1/8", "172.16.0.1/12", "172.31.255.254/32", "192.168.0.1/16", "192.0.2.1/24", "169.254.169.254/16",
    "169.254.170.2/32", "169.254.170.23/32", "192.0.0.192/24", "168.63.129.16/32", "100.64.0.1/10",
    "100.100.100.200/32", "fd00:ec2::254/64", "64:ff9b::a9fe:a9fe/96", "2002:7f00:1::/48", "2001:0:7f00:1::/64",
    "fec0::1/64",
)  # fmt: skip


class Canary:
    def __init__(self) -> None:
        self.knocks: list[str] = []
        listener = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True, backlog=200)
        threading.Thread(target=self._take, args=(listener,), daemon=True).start()

    def _take(self, listener: socket.socket) -> None:
        while True:
            sock, _peer = listener.accept()
            self.knocks.append(str(sock.getsockname()[0]))
            with sock:
                sock.recv(4096)
                sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ADDRESSES:
        subprocess.run(["ip", "addr", "add", address, "dev", "lo"], check=True)
    canary = Canary()
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(WATCHBOOK_HOME=home, DJANGO_SETTINGS_MODULE="watchbook.project.settings")
        from watchbook.project import cli  # the settings are read from the environment above

        cli._prepare()
        with contextlib.redirect_stdout(io.StringIO()):
            cli.run("migrate", "--verbosity", "0")
        said = {number: check(cli, url) for number, url in bad.literal().items()}
        knocks = list(canary.knocks)
        os.environ["WATCHBOOK_TRUSTED_NETWORKS"] = "169.254.169.254/32"
        allowed = check(cli, "http://169.254.169.254/latest/meta-data/")
        neighbour = check(cli, "http://169.254.170.2/v2/credentials")
    print(json.dumps([said, knocks, [allowed, neighbour, canary.knocks]]))


def check(cli: object, url: str) -> str:
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            cli.run("sitemaps", "check", "--json", "--", url)  # type: ignore[attr-defined]
    except SystemExit:
        return str(json.loads(out.getvalue())["error"]["code"])
    return "read"


if __name__ == "__main__":
    sys.exit(main())
