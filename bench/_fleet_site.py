"""Many hosts on loopback for the fleet: each an address of its own, with a ledger of who asked it when."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Long enough that two checks of one host at the same time would meet.
SERVICE_SECONDS = 0.02
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'


class Ledger:
    """Begin and end of every request by this process's own clock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked: dict[str, list[tuple[float, float, str]]] = {}

    def add(self, host: str, began: float, path: str) -> None:
        with self.lock:
            self.asked.setdefault(host, []).append((began, time.monotonic(), path))

    def met(self) -> int:
        """How often a host was asked while it was still answering another."""
        count = 0
        for rows in self.asked.values():
            latest = 0.0
            for began, ended, _path in sorted(rows):
                count += began < latest
                latest = max(latest, ended)
        return count

    def summary(self) -> dict[str, int]:
        with self.lock:
            requests = sum(map(len, self.asked.values()))
            paths = sum(len({path for _, _, path in rows}) for rows in self.asked.values())
            return {
                "hosts": len(self.asked),
                "requests": requests,
                "sitemaps": paths,
                "asked by two at once": self.met(),
            }


class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True


def serve(hosts: int) -> None:
    """127.0.1.1 and so on, each on a port of its own; prints their names and runs until it is ended."""
    ledger = Ledger()

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            began, host = time.monotonic(), self.headers["Host"]
            if self.path == "/ledger":
                body = json.dumps(ledger.summary()).encode()
            else:
                time.sleep(SERVICE_SECONDS)
                pages = "".join(f"<url><loc>http://{host}{self.path}/{n}</loc></url>" for n in range(20))
                body = (SITEMAP % pages).encode()
                ledger.add(host, began, self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    servers = [Server((f"127.0.{n // 250 + 1}.{n % 250 + 1}", 0), Site) for n in range(hosts)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps([f"{server.server_address[0]}:{server.server_address[1]}" for server in servers]), flush=True)
    threading.Event().wait()
