"""Search against LIKE on the same rows: how many times faster, and whether both answer the same.

    python bench/search.py --docs 100000 --database sqlite
    python bench/search.py --docs 1000000 --database postgres --url postgres://postgres@127.0.0.1/bench
    python bench/search.py --floors --docs 10000000 --flat-from 1000000

Made-up documents: 29-character titles, 232-character bodies, words by Zipf's law. With `--floors`: posts of a forum, 1
to 20 clauses of 12 characters, one topic with a title in thirty; they are written in bulk (SQLite, PostgreSQL), because
the crawl that would bring ten million of them is not what is measured, after a proof that a sample comes out as the
product writes it. `--flat-from` measures at that size on the way and prints the growth; ask LIKE for few words then
(`--like 2`). LIKE gives the same order as the search (title hits first, then newest), so it reads every row; `LIKE,
newest only` is the easier question it answers early. The database is made for the run and removed afterwards. Times are
medians, on SQLite of processor time; compare only within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench._search_fill import fill, prove  # noqa: E402
from bench._search_texts import Corpus, Floors  # noqa: E402

FLAT = 2.0
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
    is_flat = all(growth <= FLAT for growth in report.get("growth", {}).values())
    return 0 if report["equal"] and is_flat and (not is_judged or report["ratio"] >= BAR) else 1


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--database", choices=["sqlite", "postgres", "mariadb"], default="sqlite")
    parser.add_argument("--url", default="", help="DATABASE_URL of the server; a test database is made beside it")
    parser.add_argument("--words", type=int, default=12, help="words per group")
    parser.add_argument("--rounds", type=int, default=5, help="how often each word is searched; LIKE is asked once")
    parser.add_argument("--floors", action="store_true", help="posts of a forum, written into the tables directly")
    parser.add_argument("--flat-from", type=int, default=0, help="measure at this size, too, and print the growth")
    parser.add_argument("--like", type=int, default=0, help="words per group that LIKE is asked for; 0: all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.floors and options.database == "mariadb":
        parser.error("--floors is written for SQLite and PostgreSQL")
    return options


def set_up_django(options: argparse.Namespace, home: str) -> None:
    os.environ.update(WATCHBOOK_HOME=home, WATCHBOOK_ENV_FILE=f"{home}/none.env")
    from watchbook.base.testing import servers

    os.environ["DATABASE_URL"] = options.url or servers.database_url(options.database, Path(home))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    import django

    django.setup()


def measure(options: argparse.Namespace, connection: Any) -> dict[str, Any]:
    corpus = Floors() if options.floors else Corpus()
    report: dict[str, Any] = {"database": options.database, "documents": options.docs}
    earlier: dict[str, Any] = {}
    if isinstance(corpus, Floors):
        report["proved"] = prove(corpus, connection)
    if options.flat_from:
        seconds = fill(corpus, options.flat_from, connection)
        groups = choose_words(corpus, connection, options.flat_from, options.words)
        earlier = {name: compare(words, connection, options.rounds, options.like) for name, words in groups.items()}
        report["earlier"] = {"documents": options.flat_from, "fill_seconds": round(seconds), "groups": earlier}
        report["earlier"]["sizes"] = sizes(connection)
    report["fill_seconds"] = round(fill(corpus, options.docs - options.flat_from, connection))
    report["sizes"] = sizes(connection)
    if not options.flat_from:
        groups = choose_words(corpus, connection, options.docs, options.words)
    report["groups"] = {
        name: compare(words, connection, options.rounds, options.like) for name, words in groups.items()
    }
    two = report["groups"]["two characters"]
    report["ratio"], report["equal"] = two["ratio"], all(group["equal"] for group in report["groups"].values())
    if earlier:
        report["growth"] = {
            name: round(group["search_ms"] / earlier[name]["search_ms"], 2) for name, group in report["groups"].items()
        }
    return report


def sizes(connection: Any) -> dict[str, int]:
    """Megabytes of the documents with their indexes, and of the word index."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # Pages, not bytes: the sum of bytes of one table overflows at 4 GB.
            cursor.execute("SELECT CASE WHEN name LIKE 'search_words%' THEN 'words' ELSE 'documents' END,"
                           " SUM(pageno) * (SELECT page_size FROM pragma_page_size)"
                           " FROM dbstat WHERE aggregate = TRUE AND name LIKE '%search_%' GROUP BY 1")  # fmt: skip
        elif connection.vendor == "postgresql":
            cursor.execute("SELECT 'documents', pg_total_relation_size('search_documents') UNION ALL"
                           " SELECT 'words', pg_total_relation_size('search_words')")  # fmt: skip
        else:
            return {}
        return {str(name): round(size / 1e6) for name, size in cursor.fetchall()}


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


def compare(words: list[str], connection: Any, rounds: int, most: int = 0) -> dict[str, Any]:
    found, like, easy = [], [], []
    equal = True
    asked = set(words[:: max(1, len(words) // most)][:most] if most else words)
    first = []
    for word in words:
        _answer, cold = timed(lambda word=word: search(word), 1)
        first.append(cold)
        answer, seconds = timed(lambda word=word: [hit.document_id for hit in search(word)], rounds)
        if word not in asked:
            found.append(seconds)
            continue
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
    compared = [quick for word, quick in zip(words, found, strict=True) if word in asked]
    ratio = statistics.median(slow / quick for slow, quick in zip(like, compared, strict=True))
    easy_ratio = statistics.median(slow / quick for slow, quick in zip(easy, compared, strict=True))
    return {
        **shown,
        "slowest_ms": round(max(found) * 1000, 2),
        "first_ms": round(statistics.median(first) * 1000, 2),
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
    """The median of several turns: processor time on SQLite, which works in this process, else the time that passed."""
    from django.db import connection

    clock = time.process_time if connection.vendor == "sqlite" else time.perf_counter
    taken = []
    for _ in range(rounds):
        begun = clock()
        answer = call()
        taken.append(clock() - begun)
    return answer, statistics.median(taken)


def words_of(report: dict[str, Any]) -> str:
    lines = lines_of({**report["earlier"], "database": report["database"]}) if "earlier" in report else []
    lines += lines_of(report)
    if "proved" in report:
        lines.append(f"written in bulk as the product writes it: {report['proved']:,} posts compared, equal")
    if "growth" in report:
        shown = ", ".join(f"{name} {growth}x" for name, growth in report["growth"].items())
        lines.append(f"growth with {report['documents'] / report['earlier']['documents']:.0f} times as many: {shown}")
    verdict = ("met" if report["ratio"] >= BAR else "MISSED") if report["documents"] >= JUDGED_AT else "not judged here"
    lines.append(f"bar at {JUDGED_AT:,} documents: two characters {BAR}x faster, equal answers: {verdict}")
    return "\n".join(lines)


def lines_of(report: dict[str, Any]) -> list[str]:
    held = ", ".join(f"{name} {size:,} MB" for name, size in report["sizes"].items())
    lines = [f"{report['documents']:,} documents on {report['database']}, filled in {report['fill_seconds']} s; {held}"]
    for name, group in report["groups"].items():
        lines.append(
            f"{name:15} search {group['search_ms']:8.2f} ms (slowest {group['slowest_ms']:.2f}, first time"
            f" {group['first_ms']:.2f})   "
            f"LIKE {group['like_ms']:9.2f} ms = {group['ratio']:8.1f}x   "
            f"LIKE, newest only {group['like_newest_ms']:8.2f} ms = {group['ratio_newest']:.2f}x   "
            f"{'equal' if group['equal'] else 'NOT EQUAL'}"
        )
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
