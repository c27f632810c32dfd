"""Titles of pages that one system read, in the notifications of another; only of the same user."""

from __future__ import annotations

from typing import Any

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import alice, bob
from watchbook.core import registry
from watchbook.kit.letter import Item, Section
from watchbook.systems.pages.models import Page, Site, url_digest
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.store.notifications import _titled

pytestmark = pytest.mark.django_db
__all__ = ["alice", "bob"]

URL = "https://ferry.example.com/news/winter"


def test_page_that_was_read_has_its_title_and_others_their_path(alice: Any, bob: Any) -> None:
    now = clock.now()
    site = Site.objects.create(user=alice, name="Ferry", address=URL, live_key="host:ferry", daily_requests=10)
    Page.objects.create(
        site=site, url=URL, url_digest=url_digest(URL), section="/news/", title="Winter ferries start",
        first_seen_at=now, changed_at=now,
    )  # fmt: skip
    sections = (Section(items=(Item("/news/winter", URL), Item("/news/pier", f"{URL}-pier"))),)
    assert [item.title for item in _titled(sections, MonitorTask(user=alice))[0].items] == [
        "Winter ferries start",
        "/news/pier",
    ]
    assert registry.page_titles([URL], bob) == {}
