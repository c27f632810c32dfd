"""A website with many URLs, a tenth of them read, five versions each; and what its pages cost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

START = datetime(2026, 1, 5, tzinfo=UTC)
READ_EVERY, VERSIONS, BATCH, SECTIONS = 10, 5, 2_000, 40
WORDS = [
    "harbour",
    "ferry",
    "lantern",
    "tide",
    "gull",
    "rope",
    "pier",
    "mooring",
    "码头",
    "渡轮",
    "timetable",
    "ticket",
    "winter",
    "bridge",
    "anchor",
    "storm",
]
RARE, HITS, POOL = "Klabautermann", 20, 1_000
COPIED = 10_000


class Archive:
    """Pages that the same seed makes the same way."""

    def __init__(self) -> None:
        from watchbook.core.accounts.models import User
        from watchbook.systems.pages.models import Site

        self.random = random.Random(7)
        self.size = self.hits = 0
        self.pool: dict[int, list[tuple[str, bytes]]] = {}
        self.user = User.objects.create_user(email="alice@example.com", password="correct horse battery")
        self.site = Site.objects.create(
            user=self.user, name="Harbour", address="https://harbour.example/", live_key="bench:1", mode="all",
            daily_requests=1000,
        )  # fmt: skip

    def grow(self, size: int) -> None:
        """Make the first 10,000 pages and copy them inside the database: a million in minutes."""
        copies = size > COPIED
        numbers = iter(range(self.size, min(size, COPIED) if copies else size))
        while batch := list(islice(numbers, BATCH)):
            self._add(batch)
            self.size = batch[-1] + 1
        if copies:
            _analyse()
            self._copy(size // self.size - 1)
        self.size = size
        _analyse()

    def _copy(self, copies: int) -> None:
        """So many copies of everything there is, each later than the one before; words that are rare stay so."""
        from django.db import connection, transaction

        from watchbook.systems.pages.store import counts

        dialect = DIALECTS[connection.vendor]
        with transaction.atomic(), connection.cursor() as cursor:
            steps = {
                table: _scalar(cursor, f"SELECT MAX(id) FROM {table}")
                for table in ("web_pages", "web_page_versions", "web_page_events", "search_documents")
            }
            words = [] if dialect.copies_words else _words_by_document()
            for statement in _copying(dialect, steps, self.size):
                cursor.execute(statement, {"copies": copies, "rare": f"%{RARE}%"})
            for copy in range(1, copies + 1):
                _write_words(words, copy * steps["search_documents"])
            counts.recount(self.site, repair=True)

    def _add(self, numbers: list[int]) -> None:
        from django.db import transaction

        from watchbook.core.search import index
        from watchbook.systems.pages.models import Page, PageEvent, PageVersion
        from watchbook.systems.pages.parse import PageRecord
        from watchbook.systems.pages.store import counts
        from watchbook.systems.pages.store.pages import _document

        with transaction.atomic():
            fresh = [self._page(number) for number in numbers]
            Page.objects.bulk_create(fresh)
            counts.added(fresh)
            digests = [f"{number:040x}" for number in numbers if number % READ_EVERY == 0]
            pages = list(Page.objects.filter(site=self.site, url_digest__in=digests).order_by("pk"))
            made = [version for page in pages for version in self._versions(page)]
            PageVersion.objects.bulk_create([version for version, _text in made])
            events = [self._event(version) for version, _text in made if version.number > 1]
            PageEvent.objects.bulk_create(events)
            self._count_days(events)
            index.put(
                _document(self.site, version.page, PageRecord({}, text, 0), version.read_at)
                for version, text in made
                if version.number == VERSIONS
            )

    def _count_days(self, events: list[Any]) -> None:
        from watchbook.systems.pages.store import counts

        sections: dict[Any, list[str]] = {}
        for event in events:
            sections.setdefault(event.at.replace(hour=0, minute=0, second=0), []).append(event.page.section)
        for day, named in sections.items():
            counts.add_to_sections(self.site, day, named, "changed")

    def _page(self, number: int) -> Any:
        """Pages that were not read have the time of the first list, all of them the same."""
        from watchbook.systems.pages.models import Page

        at = START + timedelta(seconds=number if number % READ_EVERY == 0 else 0)
        url = f"https://harbour.example/part-{number % SECTIONS}/page-{number}"
        page = Page(
            site=self.site, url=url, url_digest=f"{number:040x}", section=f"/part-{number % SECTIONS}/",
            first_seen_at=at, changed_at=at, is_baseline=number % 50 != 0,
        )  # fmt: skip
        if number % READ_EVERY == 0:
            page.title, page.result, page.status = f"Page {number}", "ok", 200
            page.last_read_at = page.changed_at = at + timedelta(days=VERSIONS)
            page.version_count, page.next_at, page.weight = VERSIONS, at + timedelta(days=90), 0.2
        return page

    def _versions(self, page: Any) -> Iterator[tuple[Any, str]]:
        from watchbook.systems.pages.models import PageVersion

        for number, (text, data) in enumerate(self._texts(page), 1):
            version = PageVersion(
                page=page, number=number, read_at=page.first_seen_at + timedelta(days=number), status=200,
                fields={"title": page.title, "status": "200"}, size=9_000, data=data, is_whole=number == 1,
                text_length=len(text), words_added=14, words_removed=14,
            )  # fmt: skip
            yield version, text

    def _texts(self, page: Any) -> list[tuple[str, bytes]]:
        """Texts of five versions as they are stored. A thousand different ones are made, then used again."""
        if self.hits < HITS:
            self.hits += 1
            return self._write(RARE)
        place = page.pk % POOL
        if place not in self.pool:
            self.pool[place] = self._write("")
        return self.pool[place]

    def _write(self, more: str) -> list[tuple[str, bytes]]:
        from watchbook.systems.pages.store.pages import pack

        lines = [" ".join(self.random.choices(WORDS, k=14)) for _ in range(30)] + [more] * bool(more)
        found: list[tuple[str, bytes]] = []
        for number in range(1, VERSIONS + 1):
            lines[number * 5] = " ".join(self.random.choices(WORDS, k=14))
            text = "\n".join(lines)
            found.append((text, pack(text, found[-1][0] if found else None)))
        return found

    def _event(self, version: Any) -> Any:
        from watchbook.systems.pages.models import PageEvent

        return PageEvent(
            site=self.site, page=version.page, kind=PageEvent.CHANGED, version=version.number, fields=",text,",
            at=version.read_at, is_notified=True,
        )  # fmt: skip

    def addresses(self) -> dict[str, str]:
        from watchbook.kit.paging import write_cursor
        from watchbook.systems.pages.models import Page

        pages = Page.objects.filter(site=self.site)
        last = pages.order_by("changed_at", "pk")[50]
        middle = pages.filter(changed_at=START).order_by("pk")[self.size // 3]
        one = pages.filter(version_count=VERSIONS).order_by("-pk")[0]
        base = f"/pages/sites/{self.site.pk}/"
        return {
            "websites": "/pages/",
            "list": base,
            "list, last page": f"{base}?older={write_cursor(last, 'changed_at')}",
            "list, among equal times": f"{base}?older={write_cursor(middle, 'changed_at')}",
            "list of a section": f"{base}?section=/part-7/",
            "list, never read": f"{base}?state=never",
            "list, no hit in a state": f"{base}?section=/part-7/&state=ok",
            "list, rare words": f"{base}?q=Klabautermann",
            "list, 7 days": f"{base}?days=7d",
            "sections": f"{base}sections/",
            "changes": f"{base}changes/",
            "page history": f"/pages/{one.pk}/",
            "timeline": f"/pages/{one.pk}/timeline/",
            "search, 20 hits": f"/search/?q={RARE}",
            "search, hits everywhere": "/search/?q=harbour",
            "search, in Chinese": "/search/?q=码头",
        }

    def bytes_per_version(self) -> tuple[float, float]:
        """Mean bytes of whole texts, and of differences."""
        from django.db.models import Avg
        from django.db.models.functions import Length

        from watchbook.systems.pages.models import PageVersion

        rows = dict(PageVersion.objects.order_by().values_list("is_whole").annotate(n=Avg(Length("data"))))
        return rows[True], rows[False]


def _scalar(cursor: Any, statement: str) -> int:
    cursor.execute(statement)
    return int(cursor.fetchone()[0])


@dataclass(frozen=True)
class Dialect:
    """What the statements that copy rows say differently; `k` is the number of the copy."""

    series: str
    later: str
    local_day: str
    # The words of the search index can be read back, so that a statement copies them too.
    copies_words: bool


DIALECTS = {
    "postgresql": Dialect(
        "generate_series(1, %(copies)s) k",
        "{moment} + make_interval(secs => k * {seconds})",
        "({moment} AT TIME ZONE 'Asia/Shanghai')::date",
        copies_words=True,
    ),
    "sqlite": Dialect(
        "(WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %(copies)s) SELECT k FROM n)",
        "datetime({moment}, (k * {seconds}) || ' seconds')",
        "date({moment}, '+8 hours')",
        copies_words=False,
    ),
}


def _copying(dialect: Dialect, steps: dict[str, int], size: int) -> Iterator[str]:
    """Statements that copy rows; keys and times move by a step for each copy."""

    def later(moment: str) -> str:
        return dialect.later.format(moment=moment, seconds=size)

    page, step = steps["web_pages"], steps["search_documents"]
    key = {
        "id": f"id + k * {page}",
        "url": f"url || '-{size}-' || k",
        "url_digest": f"substr(md5(url || '-{size}-' || k) || md5(url), 1, 40)",
    }
    moved = {
        name: f"CASE WHEN version_count > 0 THEN {later(name)} ELSE {name} END"
        for name in ("first_seen_at", "changed_at", "last_read_at", "next_at")
    }
    yield _copy_of(dialect, "web_pages", {**key, **moved})
    own = {"page_id": f"page_id + k * {page}"}
    for table, moment in (("web_page_versions", "read_at"), ("web_page_events", "at")):
        yield _copy_of(dialect, table, {**own, "id": f"id + k * {steps[table]}", moment: later(moment)})
    found = {
        "id": f"id + k * {step}", "object_id": f"CAST(CAST(object_id AS bigint) + k * {page} AS text)",
        "occurred_at": later("occurred_at"),
    }  # fmt: skip
    yield _copy_of(dialect, "search_documents", found, "WHERE body NOT LIKE %(rare)s")
    if dialect.copies_words:
        yield (
            f"INSERT INTO search_words (document_id, words) SELECT document_id + k * {step}, words"
            f" FROM search_words, {dialect.series}"
            " WHERE document_id IN (SELECT id FROM search_documents WHERE body NOT LIKE %(rare)s)"
        )
    yield "DELETE FROM web_section_days"
    yield (
        "INSERT INTO web_section_days (site_id, section, day, new, changed, removed)"
        f" SELECT e.site_id, p.section, {dialect.local_day.format(moment='e.at')}, 0, COUNT(*), 0"
        " FROM web_page_events e JOIN web_pages p ON p.id = e.page_id GROUP BY 1, 2, 3"
    )


def _copy_of(dialect: Dialect, table: str, changes: dict[str, str], where: str = "") -> str:
    from django.apps import apps

    (model,) = [each for each in apps.get_models() if each._meta.db_table == table]
    columns = [field.column for field in model._meta.concrete_fields]
    values = ", ".join(changes.get(column, f'"{column}"') for column in columns)
    named = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({named}) SELECT {values} FROM {table}, {dialect.series} {where}"


def _words_by_document() -> list[Any]:
    """The words of every document that is copied: the index of SQLite holds no text to copy."""
    from watchbook.core.search import index
    from watchbook.core.search.models import SearchDocument

    return [index._stored_words(row) for row in SearchDocument.objects.exclude(body__contains=RARE)]


def _write_words(words: list[Any], step: int) -> None:
    from watchbook.core.search.dialects import dialect

    dialect().write([replace(each, document_id=each.document_id + step) for each in words])


def _analyse() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
