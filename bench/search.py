"""Search against LIKE on the same rows: how many times faster, and whether both answer the same.

    python bench/search.py --docs 100000 --database sqlite
    python bench/search.py --docs 1000000 --database postgres --url postgres://postgres@127.0.0.1/bench

Made-up documents: 29-character titles, 232-character bodies, words by Zipf's law. LIKE gives the same order as the
search (title hits first, then newest), so it reads every row; `LIKE, newest only` is the easier question it answers
early. The database is made for the run and removed afterwards. Times are medians; compare only within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START = datetime(2020, 1, 1, tzinfo=UTC)
TITLE, BODY = 29, 232
BATCH = 5000
# The bar is for a large archive: in a small one LIKE is fast too, and the fixed cost of a page weighs more.
JUDGED_AT, BAR = 1_000_000, 50


def main() -> int:
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as home:
        set_up_django(options, home)
        from django.db import connection
        from django.test.utils import setup_databases, teardown_databases

        databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        try:
            report = measure(options, connection)
        finally:
            teardown_databases(databases, verbosity=0)
    print(json.dumps(report, ensure_ascii=False, indent=2) if options.json else words_of(report))
    is_judged = options.docs >= JUDGED_AT
    return 0 if report["equal"] and (not is_judged or report["ratio"] >= BAR) else 1


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--database", choices=["sqlite", "postgres", "mariadb"], default="sqlite")
    parser.add_argument("--url", default="", help="DATABASE_URL of the server; a test database is made beside it")
    parser.add_argument("--words", type=int, default=12, help="words per group")
    parser.add_argument("--rounds", type=int, default=5, help="how often each word is searched; LIKE is asked once")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def set_up_django(options: argparse.Namespace, home: str) -> None:
    os.environ.update(WATCHBOOK_HOME=home, WATCHBOOK_ENV_FILE=f"{home}/none.env")
    sys.path.insert(0, str(ROOT))
    from watchbook.base.testing import servers

    os.environ["DATABASE_URL"] = options.url or servers.database_url(options.database, Path(home))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    import django

    django.setup()


class Corpus:
    """Documents that the same seed makes the same way: words by Zipf's law, put together from a pool of clauses."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        characters = [chr(number) for number in range(0x4E00, 0x4E00 + 3000)]
        self.random.shuffle(characters)
        self.vocabulary = [
            "".join(self.random.choices(characters, k=self.random.choice((1, 2, 2, 2, 3)))) for _ in range(20_000)
        ]
        weights = [1 / (rank + 3) for rank in range(len(self.vocabulary))]
        drawn = self.random.choices(self.vocabulary, weights=weights, k=TITLE * 200_000)
        written = "".join(drawn)
        self.clauses = [written[at : at + TITLE] for at in range(0, len(written) - TITLE, TITLE)]

    def documents(self, count: int) -> Iterator[Any]:
        from watchbook.core.search.index import Document

        for number in range(count):
            # As a crawl would bring them: nearly in order of time, not quite.
            moment = START + timedelta(minutes=number + self.random.randint(-500, 500))
            title, *body = self.random.choices(self.clauses, k=1 + BODY // TITLE)
            yield Document(
                "bench.item", str(number), "members", title, "".join(body), f"/bench/{number}", moment, "bench"
            )


def measure(options: argparse.Namespace, connection: Any) -> dict[str, Any]:
    corpus = Corpus()
    seconds = fill(corpus, options.docs)
    groups = choose_words(corpus, connection, options.docs, options.words)
    report: dict[str, Any] = {"database": options.database, "documents": options.docs, "fill_seconds": round(seconds)}
    report["groups"] = {name: compare(words, connection, options.rounds) for name, words in groups.items()}
    two = report["groups"]["two characters"]
    report["ratio"], report["equal"] = two["ratio"], all(group["equal"] for group in report["groups"].values())
    return report


def fill(corpus: Corpus, count: int) -> float:
    from django.db import connection, transaction

    from watchbook.core.search import index

    begun = time.monotonic()
    documents, done = corpus.documents(count), 0
    while batch := list(islice(documents, BATCH)):
        with transaction.atomic():
            index.put(batch)
        done += len(batch)
        if sys.stderr.isatty():
            print(f"\r{done:,} of {count:,}", end="", file=sys.stderr, flush=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE search_documents"
            if connection.vendor == "sqlite"
            else "ANALYZE TABLE search_documents"
            if connection.vendor == "mysql"
            else "VACUUM ANALYZE"
        )
    return time.monotonic() - begun


def choose_words(corpus: Corpus, connection: Any, count: int, wanted: int) -> dict[str, list[str]]:
    """Two-character words of the middle (1 to 10 in 1,000 documents), rare ones and common ones."""
    by_rank = [word for word in corpus.vocabulary if len(word) == 2]
    sample = count_in_sample(connection, by_rank[:4000], min(count, 20_000))
    share = {word: found / min(count, 20_000) for word, found in sample.items()}
    middle = [word for word in by_rank if 0.001 <= share.get(word, 0) <= 0.01]
    rare = by_rank[-wanted:]
    common = [word for word in by_rank if share.get(word, 0) > 0.05] or by_rank[:wanted]
    spread = middle[:: max(1, len(middle) // wanted)][:wanted]
    return {"two characters": spread, "rare": rare, "common": common[:wanted]}


def count_in_sample(connection: Any, words: list[str], size: int) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT title, body FROM search_documents ORDER BY id DESC LIMIT %s", [size])
        texts = [f"{title} {body}" for title, body in cursor.fetchall()]
    pairs: dict[str, int] = {}
    wanted = set(words)
    for text in texts:
        for pair in {text[at : at + 2] for at in range(len(text) - 1)} & wanted:
            pairs[pair] = pairs.get(pair, 0) + 1
    return pairs


def compare(words: list[str], connection: Any, rounds: int) -> dict[str, Any]:
    found, like, easy = [], [], []
    equal = True
    for word in words:
        answer, seconds = timed(lambda word=word: [hit.document_id for hit in search(word)], rounds)
        slow, slow_seconds = timed(lambda word=word: with_like(connection, word, title_first=True), 1)
        _newest, easy_seconds = timed(lambda word=word: with_like(connection, word, title_first=False), 1)
        equal = equal and answer == slow
        found.append(seconds)
        like.append(slow_seconds)
        easy.append(easy_seconds)
    medians = {
        "search": statistics.median(found),
        "like": statistics.median(like),
        "like_newest": statistics.median(easy),
    }
    shown = {f"{name}_ms": round(value * 1000, 2) for name, value in medians.items()}
    ratio = statistics.median(slow / quick for slow, quick in zip(like, found, strict=True))
    easy_ratio = statistics.median(slow / quick for slow, quick in zip(easy, found, strict=True))
    return {
        **shown,
        "slowest_ms": round(max(found) * 1000, 2),
        "ratio": round(ratio, 1),
        "ratio_newest": round(easy_ratio, 2),
        "equal": equal,
        "words": len(words),
    }


def search(word: str) -> Any:
    from watchbook.core.search.find import find

    return find(word, scopes=["members"], limit=30).items


def with_like(connection: Any, word: str, *, title_first: bool) -> list[int]:
    pattern = f"%{word}%"
    order = "CASE WHEN title LIKE %s THEN 1 ELSE 0 END DESC, " if title_first else ""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM search_documents WHERE scope IN ('members') AND (title LIKE %s OR body LIKE %s)"
            f" ORDER BY {order}occurred_at DESC, id DESC LIMIT 30",
            [pattern, pattern, *([pattern] if title_first else [])],
        )
        return [row[0] for row in cursor.fetchall()]


def timed(call: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        answer = call()
        taken.append(time.perf_counter() - begun)
    return answer, statistics.median(taken)


def words_of(report: dict[str, Any]) -> str:
    lines = [f"{report['documents']:,} documents on {report['database']}, filled in {report['fill_seconds']} s"]
    for name, group in report["groups"].items():
        lines.append(
            f"{name:15} search {group['search_ms']:8.2f} ms (slowest {group['slowest_ms']:.2f})   "
            f"LIKE {group['like_ms']:9.2f} ms = {group['ratio']:8.1f}x   "
            f"LIKE, newest only {group['like_newest_ms']:8.2f} ms = {group['ratio_newest']:.2f}x   "
            f"{'equal' if group['equal'] else 'NOT EQUAL'}"
        )
    verdict = ("met" if report["ratio"] >= BAR else "MISSED") if report["documents"] >= JUDGED_AT else "not judged here"
    lines.append(f"bar at {JUDGED_AT:,} documents: two characters {BAR}x faster, equal answers: {verdict}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
