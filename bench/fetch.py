"""What guarded fetching costs beside the bare HTTP library, interleaved in one run on a loopback server.

    .venv/bin/python bench/fetch.py [--rounds 20] [--batch 25]

Both sides keep their connections and read the whole body. Ratios below 1 mean that the guarded client is cheaper.
"""

from __future__ import annotations

import argparse
import gzip
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx

from watchbook.base.web.client import Client

WORDS = b"<p>The quick brown fox jumps over the lazy dog, number %d.</p>\n"


def pages() -> dict[str, bytes]:
    text = b"".join(WORDS % number for number in range(40_000))
    bodies = {
        "/small": (text[:1_000], ""),
        "/page": (text[:100_000], ""),
        "/page-gzip": (gzip.compress(text[:100_000]), "gzip"),
        "/large-gzip": (gzip.compress(text[:2_000_000]), "gzip"),
    }
    return {path: _answer(*body) for path, body in bodies.items()}


def _answer(body: bytes, encoding: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
    return (head + (f"Content-Encoding: {encoding}\r\n" if encoding else "") + "\r\n").encode() + body


def serve() -> None:
    """A server that does nothing but answer; in a process of its own, so that it does not share our clock."""
    answers = pages()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def talk(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while request := sock.recv(65536):
            sock.sendall(answers[request.split(b" ", 2)[1].decode()])

    while True:
        threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()


@dataclass
class Cost:
    cpu: float = 0.0
    wall: float = 0.0

    def add(self, work: Callable[[], object], times: int) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(times):
            work()
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall


def compare(base: str, path: str, rounds: int, batch: int) -> None:
    bare, guarded = httpx.Client(trust_env=False), Client(is_paced=False)
    ours, theirs = Cost(), Cost()
    url = base + path
    assert bare.get(url).content == guarded.get(url).body
    for _ in range(rounds):
        theirs.add(lambda: bare.get(url).content, batch)
        ours.add(lambda: guarded.get(url).body, batch)
    count = rounds * batch
    print(
        f"{path:<12} httpx {theirs.cpu / count * 1e6:8.0f} us CPU {theirs.wall / count * 1e6:8.0f} us wall   "
        f"guarded {ours.cpu / count * 1e6:8.0f} us CPU {ours.wall / count * 1e6:8.0f} us wall   "
        f"ratio CPU {ours.cpu / theirs.cpu:.2f} wall {ours.wall / theirs.wall:.2f}"
    )
    bare.close()
    guarded.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--batch", type=int, default=25)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve()
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        os.environ["WATCHBOOK_TRUSTED_HOSTS"] = f"127.0.0.1:{port}"
        for path in pages():
            compare(f"http://127.0.0.1:{port}", path, chosen.rounds, chosen.batch)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
