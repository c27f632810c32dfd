"""Reading sitemaps side by side with peers: 1,000,000 URLs in 20 children from a local server, one process per method.

    python -m bench.sitemaps [--quick] [--runs N] [--python PATH] [--only reading|check|unchanged|five-million]

Peers: ultimate-sitemap-parser, advertools, Scrapy's Sitemap reader. All fetch with urllib, except advertools, which
has its own urlopen in threads, and Watchbook where it runs as a job. CPU and wall time begin after the imports; peak
memory is that of the whole process, and for a job also that of the child that reads for it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import _sitemap_methods as methods
from bench import _sitemap_product as product
from bench._sitemap_site import BASE_CHILDREN, PER_CHILD, make_site, serve

ROOT = Path(__file__).resolve().parent.parent
READING = {
    "watchbook": methods.read_watchbook,
    "usp": methods.read_usp,
    "scrapy": methods.read_scrapy,
    "advertools": methods.read_advertools,
}
METHODS = {
    "reading": READING,
    # "watchbook" compares in one process and without a database, as the peers do; "as a job" is the product.
    "check": {
        "watchbook": methods.check_watchbook,
        "as a job": product.check_as_job,
        "usp": methods.check_usp,
        "scrapy": methods.check_scrapy,
        "advertools": methods.check_advertools,
    },
    # The peers have nothing to compare with: they read everything again.
    "unchanged": {"download": methods.download, "as a job": product.check_unchanged}
    | {peer: READING[peer] for peer in ("usp", "scrapy", "advertools")},
    "stored": {"as a job": product.stored_bytes},
}


def run(python: str, task: str, method: str, url: str) -> dict[str, Any]:
    command = [python, "-m", "bench.sitemaps", "--run", f"{task}:{method}", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=ROOT)
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

    def at_most(self, what: str, value: float, bar: float, unit: str = "MB") -> None:
        shown = f"{value:.2f}" if bar < 10 else f"{value:.0f}"
        self.lines.append((value <= bar, f"{what}: {shown} {unit}, bar {bar:g} {unit}"))

    def memory(self, what: str, results: dict[str, dict[str, Any]], bar: float) -> None:
        """Reading and comparing as such, and what a check needs above the idle worker that it runs in."""
        if "watchbook" in results:
            self.at_most(f"{what}, peak", results["watchbook"]["peak"], bar)
        job = results["as a job"]
        idle = f"peak above the idle worker of {job['idle']:.0f} MB"
        self.at_most(f"{what}, as a job, {idle}, its child included", job["peak"] - job["idle"], bar)

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
        bars.memory("whole check", results, 150)
        bars.equal("whole check, changes", {int(result["count"]) for result in results.values()})
    if wanted in (None, "unchanged"):
        measure_unchanged(options, f"{base}/plain/a", children, bars)
    if wanted == "five-million" or (wanted is None and not options.quick):
        url = f"{base}/plain/a/100/index.xml"
        results = {method: run(options.python, "check", method, url) for method in ("watchbook", "as a job")}
        show("Two whole checks of 5,000,000 URLs in 100 children", results)
        bars.memory("whole check of 5,000,000", results, 300)
        bars.equal("whole check of 5,000,000, changes", {int(result["count"]) for result in results.values()})


def measure_unchanged(options: argparse.Namespace, base: str, children: int, bars: Bars) -> None:
    results = best_of(options.python, "unchanged", f"{base}/{children}/index.xml", options.runs)
    show(f"An unchanged check of {children * PER_CHILD:,} URLs, everything fetched", results)
    left = run(options.python, "stored", "as a job", f"{base}/1/index.xml")
    print(f"  it leaves {left['stored']:.0f} bytes behind, and {left['queued']:.0f} for two weeks in the queue of jobs")
    ours = results["as a job"]
    bars.at_most("unchanged check, CPU of download + SHA-256", ours["cpu"] / results["download"]["cpu"], 2, "x")
    bars.memory("unchanged check", results, 150)
    bars.at_most("unchanged check, stored", left["stored"], 1000, "bytes")


def main() -> int:
    peers = ROOT / ".venv-bench" / "bin" / "python"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 URLs in 2 children")
    parser.add_argument("--runs", type=int, default=1, help="runs of every reading method; the best counts")
    parser.add_argument("--python", default=str(peers) if peers.exists() else sys.executable, help="has the peers")
    parser.add_argument("--only", choices=["reading", "check", "unchanged", "five-million"])
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
        # In a process of its own, so that this one stays small and the server's work counts for neither side.
        command = [sys.executable, "-m", "bench.sitemaps", "--site", folder, str(children)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as site:
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
