"""Pages: main text against gold texts, freshness at equal requests, bytes per version.

    BENCH_PAGES=folder python -m bench.pages

The folder is a checkout of article-extraction-benchmark (ground-truth.json and html/*.html.gz); without it the pages of
the stand-in are read, and the output says so. F1 is by 4-grams of words, as the benchmark counts it. Trafilatura alone,
readability-lxml and resiliparse are measured beside it where they are installed; ours also reads head fields and
structured data. Bars: no library has a better F1, and the adaptive order keeps more copies up to date than the others.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import django

from standins.sitemap_site.texts import Texts
from watchbook.systems.pages.parse.text import decode, read_page
from watchbook.systems.pages.tests.simulation import simulate

ROOT = Path(__file__).resolve().parent.parent
Reader = Callable[[bytes], str]
WORDS = re.compile(r"\w+")


def gold_pages() -> Iterator[tuple[bytes, str]]:
    folder = os.environ.get("BENCH_PAGES", "")
    if folder:
        truth = json.loads((Path(folder) / "ground-truth.json").read_text("utf-8"))
        for name, entry in sorted(truth.items()):
            yield gzip.decompress((Path(folder) / "html" / f"{name}.html.gz").read_bytes()), entry["articleBody"]
        return
    texts = Texts()
    texts.has_noise = False
    for number in range(50):
        paragraphs = [f"Sentence {line} of page {number} tells how ferry {line * number} sails." for line in range(20)]
        texts.write(f"/{number}", title=f"Page {number}", paragraphs=paragraphs)
        answer = texts.answer(f"/{number}")
        assert answer is not None
        yield answer.whole_body(), "\n".join([f"Page {number}", *paragraphs])


def grams(text: str) -> Counter[tuple[str, ...]]:
    words = WORDS.findall(text)
    if len(words) < 4:
        return Counter([tuple(words)])
    return Counter(zip(*(words[start:] for start in range(4)), strict=False))


def shares(found: str, wanted: str) -> tuple[float, float, float]:
    """True, false and missing 4-grams of one page; each page weighs the same."""
    ours, gold = grams(found), grams(wanted)
    common = (ours & gold).total()
    counts = (common, ours.total() - common, gold.total() - common)
    return counts[0] / sum(counts), counts[1] / sum(counts), counts[2] / sum(counts)


def _watchbook() -> Reader:
    return lambda body: str(read_page(body)["text"])


def _trafilatura() -> Reader:
    extract = import_module("trafilatura").extract
    return lambda body: extract(body, fast=True, include_comments=False) or ""


def _readability() -> Reader:
    document, html = import_module("readability").Document, import_module("lxml.html")
    return lambda body: "\n".join(html.fromstring(document(decode(body)).summary()).itertext())


def _resiliparse() -> Reader:
    extract = import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda body: str(extract(decode(body), main_content=True))


READERS: dict[str, Callable[[], Reader]] = {
    "watchbook": _watchbook, "trafilatura": _trafilatura, "readability-lxml": _readability, "resiliparse": _resiliparse,
}  # fmt: skip


def measure(name: str) -> dict[str, float] | None:
    """F1, processor time and peak of one reader; None if it is not installed. One process each: a peak never falls."""
    try:
        read = READERS[name]()
    except ImportError:
        return None
    pages = list(gold_pages())
    read(pages[0][0])
    began = time.process_time()
    texts = [read(body) for body, _gold in pages]
    spent = (time.process_time() - began) * 1000 / len(pages)
    found = [shares(text, gold) for text, (_body, gold) in zip(texts, pages, strict=True)]
    true, false, missing = (sum(part) for part in zip(*found, strict=True))
    precision, recall = true / (true + false), true / (true + missing)
    score = 2 * precision * recall / max(precision + recall, 1e-9)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"f1": score, "precision": precision, "recall": recall, "ms": spent, "mb": peak, "pages": len(pages)}


def extraction() -> bool:
    """Ours beside libraries, ours with head fields and structured data. True if none has a better F1 than ours."""
    if not os.environ.get("BENCH_PAGES"):
        print("BENCH_PAGES is not set: no gold texts, pages of the stand-in instead")
    found: dict[str, dict[str, float]] = {}
    for name in READERS:
        command = [sys.executable, "-m", "bench.pages", "--reader", name]
        said = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
        if said is None:
            print(f"  {name} is not installed")
            continue
        found[name] = said
        print(
            f"  {name:18} F1 {said['f1']:.3f} (precision {said['precision']:.3f}, recall {said['recall']:.3f}), "
            f"{said['ms']:.1f} ms CPU a page, peak {said['mb']:.0f} MB, {said['pages']} pages"
        )
    return found["watchbook"]["f1"] >= max(each["f1"] for each in found.values()) - 0.0005


def freshness() -> bool:
    print("400 pages, 80 requests a day, 60 days:")
    found = {order: simulate(order) for order in ("round_robin", "lastmod", "adaptive")}
    for order, result in found.items():
        share = f"{100 * result.fresh_share:.1f} % of copies up to date"
        print(f"  {order:12} {share}, a change is seen after {result.hours_late:.0f} h, {result.looks} requests")
    best = found["adaptive"]
    return all(best.fresh_share > found[other].fresh_share for other in ("round_robin", "lastmod"))


def storage() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    django.setup()
    from watchbook.systems.pages.store.pages import pack  # after Django is set up

    lines = [f"Line {n} of a page about ferry {n * 7} that leaves pier {n % 5} at {n % 24}:10." for n in range(90)]
    text, sizes = "\n".join(lines), []
    before = text
    for edition in range(9):
        lines[edition * 7] = f"Line that was edited in edition {edition} and says something else now."
        after = "\n".join(lines)
        sizes.append(len(pack(after, before)))
        before = after
    print(
        f"version of {len(text):,} characters: {len(pack(text, None)):,} bytes whole, {sum(sizes) // 9} as difference"
    )


def main() -> int:
    is_best = extraction()
    is_fresher = freshness()
    storage()
    return 0 if is_best and is_fresher else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reader"]:
        sys.stdout.write(json.dumps(measure(sys.argv[2])))
        raise SystemExit(0)
    raise SystemExit(main())
