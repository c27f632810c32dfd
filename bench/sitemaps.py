"""Reading sitemaps side by side with peers: 1,000,000 URLs in 20 children from a local server, one process per method.

    python bench/sitemaps.py [--quick] [--runs N] [--python PATH] [--only reading|check|five-million]

Peers: ultimate-sitemap-parser, advertools, Scrapy's Sitemap reader. All fetch with urllib, except advertools, which
has its own urlopen in threads. CPU and wall time begin after the imports; peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PER_CHILD = 50_000
BASE_CHILDREN = 20
SPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
HOST = b"www.example.com"


# The site


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
    """/VARIANT/GENERATION/CHILDREN/index.xml and /VARIANT/GENERATION/NUMBER.xml; beyond the 20th on other hosts."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            *_, variant, generation, last = self.path.removesuffix("/index.xml").split("/")
            if self.path.endswith("/index.xml"):
                base = f"http://127.0.0.1:{self.server.server_address[1]}/{variant}/{generation}"
                names = "".join(f"<sitemap><loc>{base}/{n}.xml</loc></sitemap>" for n in range(int(last)))
                body = f"<sitemapindex {SPACES}>{names}</sitemapindex>".encode()
            else:
                number = int(last.removesuffix(".xml"))
                body = (folder / variant / generation / f"{number % BASE_CHILDREN}.xml").read_bytes()
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


def get(url: str) -> bytes:
    with urlopen(url, timeout=120) as answer:
        return answer.read()


# The methods: each gives (count, seconds of CPU, seconds of wall) after its imports


def measured(work: Callable[[], int]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    count = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"count": count, "cpu": cpu, "wall": wall, "peak": peak_megabytes()}


def peak_megabytes() -> float:
    """VmHWM begins with this program; ru_maxrss would include the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def watchbook_snapshot(url: str, folder: Path) -> list[Any]:
    """Fetch to disk, read, write canonical lists."""
    from watchbook.sources.sitemaps.parse import read_part

    def fetch(address: str) -> Path:
        path = folder / "body"
        with urlopen(address, timeout=120) as answer, path.open("wb") as file:
            while chunk := answer.read(1 << 18):
                file.write(chunk)
        return path

    lists = []
    for number, child in enumerate(read_part(fetch(url), base_url=url).children):
        part = read_part(fetch(child.url), base_url=child.url, output=folder / f"{number}.tsv")
        assert part.complete, part.notes
        lists.append(part.pages)
    return lists


def read_watchbook(url: str) -> dict[str, float]:
    # Imports are not measured, for nobody; this one is loaded late otherwise.
    import lxml.etree  # noqa: F401

    import watchbook.sources.sitemaps.parse  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        return measured(lambda: sum(part.count for part in watchbook_snapshot(url, Path(folder))))


def usp_pages(url: str) -> Iterator[Any]:
    from usp.fetch_parse import SitemapFetcher
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientSuccessResponse

    class Answer(AbstractWebClientSuccessResponse):
        def __init__(self, address: str) -> None:
            self.address, self.body = address, get(address)

        def status_code(self) -> int:
            return 200

        def status_message(self) -> str:
            return "OK"

        def header(self, case_insensitive_name: str) -> str | None:
            return "application/xml" if case_insensitive_name.lower() == "content-type" else None

        def raw_data(self) -> bytes:
            return self.body

        def url(self) -> str:
            return self.address

    class Client(AbstractWebClient):
        def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
            pass

        def get(self, url: str) -> Answer:
            return Answer(url)

    return SitemapFetcher(url=url, recursion_level=0, web_client=Client()).sitemap().all_pages()


def read_usp(url: str) -> dict[str, float]:
    import logging

    import usp.fetch_parse  # noqa: F401

    logging.disable(logging.CRITICAL)
    return measured(lambda: sum(1 for _ in usp_pages(url)))


def scrapy_pages(url: str) -> Iterator[dict[str, Any]]:
    from scrapy.utils.sitemap import Sitemap

    for child in Sitemap(get(url)):
        yield from Sitemap(get(child["loc"]))


def read_scrapy(url: str) -> dict[str, float]:
    import scrapy.utils.sitemap  # noqa: F401

    return measured(lambda: sum(1 for _ in scrapy_pages(url)))


def read_advertools(url: str) -> dict[str, float]:
    import logging

    import advertools

    logging.disable(logging.CRITICAL)
    return measured(lambda: len(advertools.sitemap_to_df(url)))


# The whole check: read A and keep it, read B and keep it, say what is different


def check_watchbook(url: str) -> dict[str, float]:
    import lxml.etree  # noqa: F401
    import zstandard

    from watchbook.sources.sitemaps.compare import compare, union_of
    from watchbook.sources.sitemaps.parse import PartList

    def keep(address: str, folder: Path) -> list[Any]:
        folder.mkdir()
        lists = watchbook_snapshot(address, folder)
        assert union_of(lists).url_hash
        packer = zstandard.ZstdCompressor(level=3)
        kept = []
        for part in lists:
            path = part.source.with_suffix(".zst")
            with part.source.open("rb") as plain, path.open("wb") as packed:
                packer.copy_stream(plain, packed)
            part.source.unlink()
            kept.append(PartList(part.name, part.sha256, part.count, path))
        return kept

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            old = keep(url, Path(folder, "a"))
            new = keep(url.replace("/a/", "/b/"), Path(folder, "b"))
            with compare(old, new) as found, Path(folder, "changes.json").open("w") as file:
                file.writelines(found.json_pieces())
                return sum(found.counts[kind] for kind in ("added", "removed", "modified"))

    return measured(work)


def check_naively(url: str, rows: Callable[[str], Iterator[dict[str, Any]]]) -> dict[str, float]:
    """What most do: all pages as JSON, loaded into two dictionaries."""

    def load(path: Path) -> dict[str, str]:
        return {row["url"]: row["lastmod"] for row in json.loads(path.read_text())}

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            for generation in "ab":
                pages = list(rows(url.replace("/a/", f"/{generation}/")))
                Path(folder, generation).write_text(json.dumps(pages))
                del pages
            old, new = load(Path(folder, "a")), load(Path(folder, "b"))
            modified = sum(old[page] != new[page] for page in old.keys() & new.keys())
            return len(new.keys() - old.keys()) + len(old.keys() - new.keys()) + modified

    return measured(work)


def check_usp(url: str) -> dict[str, float]:
    import logging

    import usp.fetch_parse  # noqa: F401

    logging.disable(logging.CRITICAL)

    def rows(address: str) -> Iterator[dict[str, Any]]:
        for page in usp_pages(address):
            moment = page.last_modified
            yield {"url": page.url, "lastmod": moment.isoformat() if moment else None}

    return check_naively(url, rows)


def check_scrapy(url: str) -> dict[str, float]:
    import scrapy.utils.sitemap  # noqa: F401

    def rows(address: str) -> Iterator[dict[str, Any]]:
        for page in scrapy_pages(address):
            yield {"url": page["loc"], "lastmod": page.get("lastmod")}

    return check_naively(url, rows)


METHODS = {
    "reading": {
        "watchbook": read_watchbook,
        "usp": read_usp,
        "scrapy": read_scrapy,
        "advertools": read_advertools,
    },
    "check": {"watchbook": check_watchbook, "usp": check_usp, "scrapy": check_scrapy},
}


# The table


def run(python: str, task: str, method: str, url: str) -> dict[str, Any]:
    command = [python, __file__, "--run", f"{task}:{method}", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env={**os.environ, "PYTHONPATH": ""})
    if done.returncode:
        raise SystemExit(f"{method} could not run:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def best_of(python: str, task: str, url: str, runs: int) -> dict[str, dict[str, Any]]:
    """Methods take turns, so that a noisy minute hits them all; the least CPU of each counts."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(runs):
        for method in METHODS[task]:
            result = run(python, task, method, url)
            if method not in best or result["cpu"] < best[method]["cpu"]:
                result["peak"] = max(result["peak"], best.get(method, result)["peak"])
                best[method] = result
    return best


def show(title: str, results: dict[str, dict[str, Any]]) -> None:
    print(f"\n{title}")
    print(f"  {'method':<12}{'count':>11}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'x usp CPU':>11}")
    for method, result in results.items():
        ratio = results["usp"]["cpu"] / result["cpu"] if "usp" in results else 0
        shown = f"{ratio:>10.1f}x" if ratio else f"{'':>11}"
        numbers = f"{result['cpu']:>9.2f}{result['wall']:>9.2f}{result['peak']:>9.0f}"
        print(f"  {method:<12}{result['count']:>11,}{numbers}{shown}", flush=True)


class Bars:
    def __init__(self) -> None:
        self.lines: list[tuple[bool, str]] = []

    def at_least(self, what: str, value: float, bar: float) -> None:
        self.lines.append((value >= bar, f"{what}: {value:.1f}x, bar {bar:g}x"))

    def at_most(self, what: str, value: float, bar: float) -> None:
        self.lines.append((value <= bar, f"{what}: {value:.0f} MB, bar {bar:g} MB"))

    def equal(self, what: str, values: set[int]) -> None:
        self.lines.append((len(values) == 1, f"{what}: {sorted(values)}"))


def measure(options: argparse.Namespace, base: str, bars: Bars) -> None:
    children = 2 if options.quick else BASE_CHILDREN
    total = children * PER_CHILD
    wanted = options.only
    if wanted in (None, "reading"):
        for variant, bar in (("plain", 12), ("entities", 6)):
            results = best_of(options.python, "reading", f"{base}/{variant}/a/{children}/index.xml", options.runs)
            show(f"Reading {total:,} URLs in {children} children, {variant}", results)
            bars.at_least(f"reading, {variant}, CPU of usp", results["usp"]["cpu"] / results["watchbook"]["cpu"], bar)
            bars.at_most(f"reading, {variant}, peak", results["watchbook"]["peak"], 150)
            bars.equal(f"reading, {variant}, counts", {int(result["count"]) for result in results.values()})
    if wanted in (None, "check"):
        results = best_of(options.python, "check", f"{base}/plain/a/{children}/index.xml", 1)
        show(f"Two whole checks of {total:,} URLs: read, keep, hash, difference", results)
        bars.at_most("whole check, peak", results["watchbook"]["peak"], 150)
        bars.equal("whole check, changes", {int(result["count"]) for result in results.values()})
    if wanted == "five-million" or (wanted is None and not options.quick):
        result = run(options.python, "check", "watchbook", f"{base}/plain/a/100/index.xml")
        show("Two whole checks of 5,000,000 URLs in 100 children", {"watchbook": result})
        bars.at_most("whole check of 5,000,000, peak", result["peak"], 300)


def main() -> int:
    peers = ROOT / ".venv-bench" / "bin" / "python"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 URLs in 2 children")
    parser.add_argument("--runs", type=int, default=1, help="runs of every reading method; the best counts")
    parser.add_argument("--python", default=str(peers) if peers.exists() else sys.executable, help="has the peers")
    parser.add_argument("--only", choices=["reading", "check", "five-million"])
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--site", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        task, method = options.run[0].split(":")
        print(json.dumps(METHODS[task][method](options.run[1])))
        return 0
    if options.site:
        make_site(Path(options.site[0]), ["plain", "entities"], int(options.site[1]))
        serve(Path(options.site[0]))
        return 0
    return compare_all(options)


def compare_all(options: argparse.Namespace) -> int:
    bars = Bars()
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as folder:
        children = 2 if options.quick else BASE_CHILDREN
        # In a process of its own, so that this one stays small and the server's work is nobody's CPU time.
        command = [sys.executable, __file__, "--site", folder, str(children)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as site:
            try:
                assert site.stdout is not None
                measure(options, f"http://127.0.0.1:{int(site.stdout.readline())}", bars)
            finally:
                site.terminate()
    print()
    for met, line in bars.lines:
        print(f"  {'met   ' if met else 'MISSED'}  {line}")
    return 0 if all(met for met, _ in bars.lines) else 1


if __name__ == "__main__":
    sys.exit(main())
