"""A website with many URLs, a tenth of them read, five versions each; and what its pages cost."""

from __future__ import annotations

import random
from collections.abc import Iterator
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
RARE = "Klabautermann"


class Archive:
    """Pages that the same seed makes the same way."""

    def __init__(self) -> None:
        from watchbook.core.accounts.models import User
        from watchbook.systems.pages.models import Site

        self.random = random.Random(7)
        self.size = 0
        self.user = User.objects.create_user(email="alice@example.com", password="correct horse battery")
        self.site = Site.objects.create(
            user=self.user, name="Harbour", address="https://harbour.example/", live_key="bench:1", mode="all",
            daily_requests=1000,
        )  # fmt: skip

    def grow(self, size: int) -> None:
        numbers = iter(range(self.size, size))
        while batch := list(islice(numbers, BATCH)):
            self._add(batch)
        self.size = size
        _analyse()

    def _add(self, numbers: list[int]) -> None:
        from django.db import transaction

        from watchbook.core.search import index
        from watchbook.systems.pages.models import Page, PageEvent, PageVersion
        from watchbook.systems.pages.parse import PageRecord
        from watchbook.systems.pages.store.pages import _document

        with transaction.atomic():
            Page.objects.bulk_create([self._page(number) for number in numbers])
            digests = [f"{number:040x}" for number in numbers if number % READ_EVERY == 0]
            pages = list(Page.objects.filter(site=self.site, url_digest__in=digests).order_by("pk"))
            made = [version for page in pages for version in self._versions(page)]
            PageVersion.objects.bulk_create([version for version, _text in made])
            PageEvent.objects.bulk_create([self._event(version) for version, _text in made if version.number > 1])
            index.put(
                _document(self.site, version.page, PageRecord({}, text, 0), version.read_at)
                for version, text in made
                if version.number == VERSIONS
            )

    def _page(self, number: int) -> Any:
        from watchbook.systems.pages.models import Page

        at = START + timedelta(seconds=number)
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
        from watchbook.systems.pages.store.texts import pack

        lines = [" ".join(self.random.choices(WORDS, k=14)) for _ in range(30)]
        if page.pk % 5000 == 1:
            lines.append(RARE)
        before = None
        for number in range(1, VERSIONS + 1):
            lines[number * 5] = " ".join(self.random.choices(WORDS, k=14))
            text = "\n".join(lines)
            version = PageVersion(
                page=page, number=number, read_at=page.first_seen_at + timedelta(days=number), status=200,
                fields={"title": page.title, "status": "200"}, size=9_000, data=pack(text, before),
                is_whole=before is None, text_length=len(text), words_added=14, words_removed=14,
            )  # fmt: skip
            yield version, text
            before = text

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
        one = pages.filter(version_count=VERSIONS).order_by("-pk")[0]
        base = f"/pages/sites/{self.site.pk}/"
        return {
            "websites": "/pages/",
            "list": base,
            "list, last page": f"{base}?older={write_cursor(last, 'changed_at')}",
            "list of a section": f"{base}?section=/part-7/",
            "sections": f"{base}sections/",
            "changes": f"{base}changes/",
            "page history": f"/pages/{one.pk}/",
            "timeline": f"/pages/{one.pk}/timeline/",
            "search": f"/search/?q={RARE}",
        }

    def bytes_per_version(self) -> tuple[float, float]:
        """Mean bytes of whole texts, and of differences."""
        from django.db.models import Avg
        from django.db.models.functions import Length

        from watchbook.systems.pages.models import PageVersion

        rows = dict(PageVersion.objects.order_by().values_list("is_whole").annotate(n=Avg(Length("data"))))
        return rows[True], rows[False]


def _analyse() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
