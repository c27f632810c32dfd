"""A made-up site for the comparison of sitemap readers: 20 children of 50,000 URLs, in two generations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PER_CHILD = 50_000
BASE_CHILDREN = 20
SPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
HOST = b"www.example.com"


def make_site(folder: Path, variants: list[str], children: int) -> None:
    """Children of two generations: in B one page in a hundred is replaced and three in a hundred have a new date."""
    for variant in variants:
        for generation in "ab":
            (folder / variant / generation).mkdir(parents=True)
            for child in range(children):
                text = "".join(child_entries(child, generation, variant))
                body = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {SPACES}>\n{text}</urlset>\n'
                (folder / variant / generation / f"{child}.xml").write_text(body)


def child_entries(child: int, generation: str, variant: str) -> Iterator[str]:
    chance = random.Random(child)
    for number in range(PER_CHILD):
        key, day, second = chance.randrange(10**9), chance.randrange(336), chance.randrange(86_400)
        fate, query = chance.random(), chance.random() < 0.3
        if generation == "b" and fate < 0.01:
            key += 10**9
        elif generation == "b" and fate < 0.04:
            day = (day + 1) % 336
        path = f"https://www.example.com/section-{number % 40:02}/article-about-things-{child:02}{key:010}.html"
        moment = (
            f"2025-{day // 28 + 1:02}-{day % 28 + 1:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        )
        more = ""
        if variant == "entities":
            path += "?from=map&amp;size=large" if query else ""
            more = f"<image:image><image:loc>https://img.example.com/{key}.jpg?w=1&amp;h=2</image:loc></image:image>"
            more += f'<xhtml:link rel="alternate" hreflang="de" href="https://www.example.com/de/{key}"/>'
        yield (
            f"<url><loc>{path}</loc><lastmod>{moment}+00:00</lastmod><changefreq>weekly</changefreq>"
            f"<priority>0.{number % 9 + 1}</priority>{more}</url>\n"
        )


def serve(folder: Path) -> None:
    """/VARIANT/GENERATION/CHILDREN/index.xml and /VARIANT/GENERATION/NUMBER.xml; beyond the 20th on other hosts.

    The generation "now" is the one that /now/GENERATION was last asked for: the same addresses, new pages.
    """
    present = "a"

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal present
            *_, variant, generation, last = ["", *self.path.removesuffix("/index.xml").split("/")]
            if generation == "now" and last in ("a", "b"):
                present, body = last, b""
            elif self.path.endswith("/index.xml"):
                base = f"http://127.0.0.1:{self.server.server_address[1]}/{variant}/{generation}"
                names = "".join(f"<sitemap><loc>{base}/{n}.xml</loc></sitemap>" for n in range(int(last)))
                body = f"<sitemapindex {SPACES}>{names}</sitemapindex>".encode()
            else:
                number = int(last.removesuffix(".xml"))
                shown = present if generation == "now" else generation
                body = (folder / variant / shown / f"{number % BASE_CHILDREN}.xml").read_bytes()
                if number >= BASE_CHILDREN:
                    body = body.replace(HOST, b"www%d.example.com" % (number // BASE_CHILDREN))
            self.send_response(200)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    print(server.server_address[1], flush=True)
    server.serve_forever()
