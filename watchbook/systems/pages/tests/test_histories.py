"""Random histories of a noisy site: versions, moves, losses and delistings are what the ledger says, and no others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db.models import Q
from hypothesis import given
from hypothesis import strategies as st

from standins.sitemap_site import SitemapSite
from watchbook.core.accounts.models import User
from watchbook.systems.pages.models import Page, PageVersion, Site, SiteDay
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.store.pages import text_of
from watchbook.systems.pages.tests.conftest import Desk, trust
from watchbook.systems.pages.tests.test_lists import publish

PATHS = [f"/piers/{number}" for number in range(5)]
WORDS = ("lantern", "ferry", "mooring", "gull", "tide", "rope", "码头", "灯笼", "渡轮")
FAILURES = ["wall", "login", "soft_404", "empty", "broken", "trouble", "huge", "bomb"]
ENCODINGS = {
    "utf-8": {"encoding": "utf-8", "declared": ""},
    "gb18030": {"encoding": "gb18030", "declared": ""},
    "undeclared": {"encoding": "gb18030", "declared": "utf-8"},
    "stray": {"encoding": "utf-8", "declared": "", "has_stray_byte": True},
    "whole": {"has_stray_byte": False},
}
# How a page leaves its list, and what became of it
LEAVING = {
    "gone": "gone", "stays": "delisted", "redirect": "moved", "chain": "moved", "rename": "moved", "for now": "asking",
    "in trouble": "asking",
}  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), min_size=3, max_size=12).map(" ".join)
EDITS = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("first"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("price"), st.sampled_from(PATHS), st.sampled_from(["3.90", "4.20", "5.00"])),
    st.tuples(st.just("title"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("robots"), st.sampled_from(PATHS), st.sampled_from(["noindex", "index"])),
    st.tuples(st.just("fail"), st.sampled_from(PATHS), st.sampled_from(FAILURES)),
    # Not a change of the page: other bytes for the same text, a wrong declaration, a byte that fits no encoding
    st.tuples(st.just("bytes"), st.sampled_from(PATHS), st.sampled_from(list(ENCODINGS))),
    st.tuples(st.just("leave"), st.sampled_from(PATHS), st.sampled_from(list(LEAVING))),
)


class History:
    """Plays edits on the site and knows what a perfect reader would have kept."""

    def __init__(self, desk: Desk, budget: int) -> None:
        self.desk = desk
        self.fates: dict[str, str] = {}
        self.targets: dict[str, str] = {}
        publish(desk, *PATHS)
        self.contents = {path: [desk.site.texts.pages[path].content] for path in PATHS}
        desk.website(daily_requests=budget)
        self._read_all()

    def _read_all(self) -> None:
        """Days go by until everything was read once more; a small budget needs several."""
        Page.objects.filter(is_listed=True).update(next_at=self.desk.now)
        began = self.desk.now
        for _day in range(8):
            self.desk.cycle(timedelta(days=1))
            if not Page.objects.filter(Q(last_tried_at=None) | Q(last_tried_at__lte=began), is_listed=True).exists():
                return
        raise AssertionError("not read in eight days")

    def play(self, edits: list[tuple[str, str, str]]) -> None:
        """One round: edits, then one reading of everything. Pages that fail now are seen by nobody."""
        failing = []
        for kind, path, value in edits:
            if path in self.fates:
                continue
            self._edit(kind, path, value)
            failing += [path] if kind == "fail" else []
        self._read_all()
        for path in set(failing):
            if path not in self.fates:
                self.desk.site.write(path, mood="plain")
        self._read_all()
        for path in PATHS:
            page = self.desk.site.texts.pages.get(path)
            if path not in self.fates and page is not None and self.contents[path][-1] != page.content:
                self.contents[path].append(page.content)

    def _edit(self, kind: str, path: str, value: str) -> None:
        site = self.desk.site
        if kind == "text":
            site.write(path, paragraphs=[*site.texts.pages[path].paragraphs[:1], value])
        elif kind == "first":
            site.write(path, paragraphs=[value, *site.texts.pages[path].paragraphs[1:]])
        elif kind == "fail":
            site.write(path, mood=value)
        elif kind == "bytes":
            site.write(path, **ENCODINGS[value])
        elif kind == "leave":
            self._leave(path, value)
        else:
            site.write(path, **{kind: value})

    def _leave(self, path: str, how: str) -> None:
        site = self.desk.site
        self.fates[path] = LEAVING[how]
        site.remove(path)
        page = site.texts.pages[path]
        if how in ("gone", "in trouble"):
            site.write(path, mood="gone" if how == "gone" else "wall")
        elif how == "stays":
            site.write(path, mood="plain")
        elif how == "rename":
            # What is known of the page is its last version that was read.
            del site.texts.pages[path]
            title, paragraphs, *_more = self.contents[path][-1]
            site.texts.pages[f"{path}/new"] = replace(page, title=title, paragraphs=paragraphs, mood="plain")
            site.add(f"{path}/new", lastmod="2026-03-03")
            self.targets[path] = f"{path}/new"
        else:
            del site.texts.pages[path]
            hops = [path, "/hop-1", "/hop-2", "/"] if how == "chain" else [path, "/"]
            for here, there in pairwise(hops):
                site.redirect(here, there, is_permanent=how != "for now")
            if how != "for now":
                self.targets[path] = "/"


def check(history: History) -> None:
    for path in PATHS:
        page = history.desk.page(path)
        versions = list(PageVersion.objects.filter(page=page).order_by("number"))
        said = history.contents[path]
        assert len(versions) == len(said), (path, said, [version.changed_fields for version in versions])
        for version, (title, paragraphs, _description, price, robots) in zip(versions, said, strict=True):
            assert version.fields["title"] == title
            assert (version.fields.get("price", ""), version.fields.get("robots", "")) == (price, robots)
            assert all(paragraph in text_of(version) for paragraph in paragraphs)
    left = Page.objects.filter(is_listed=False)
    assert {page.path: page.fate for page in left} == history.fates
    assert {page.path: urlsplit(page.moved_to).path for page in left if page.moved_to} == history.targets
    # A page with a new name is one page of its own, read and kept once.
    for path in history.targets.values():
        if path != "/":
            assert PageVersion.objects.filter(page=history.desk.page(path)).count() == 1
    site = Site.objects.get()
    assert counts.recount(site, repair=False) == []


def check_requests(desk: Desk) -> None:
    # The site serves no other files; the sitemap is read by its own system.
    asked = desk.site.log.count() - desk.site.log.count("/sitemap.xml")
    assert sum(SiteDay.objects.values_list("requests", flat=True)) == asked
    assert Site.objects.get().daily_requests >= max(SiteDay.objects.values_list("requests", flat=True))


@pytest.mark.django_db(transaction=True)
@given(
    rounds=st.lists(st.lists(EDITS, min_size=1, max_size=4), min_size=1, max_size=3), budget=st.sampled_from([5000, 25])
)
def test_random_history_is_kept_as_the_ledger_says(rounds: list[list[tuple[str, str, str]]], budget: int) -> None:
    User.objects.all().delete()
    user = User.objects.create_user(email="alice@example.com", password="correct horse battery")
    with SitemapSite() as site, pytest.MonkeyPatch.context() as patch:
        trust(patch, site.netloc)
        history = History(Desk(user, site), budget)
        for edits in rounds:
            history.play(edits)
        check(history)
        check_requests(history.desk)


def test_ledger_of_the_service_has_every_content() -> None:
    site: Any = SitemapSite()
    site.write("/a", title="One")
    site.write("/a", title="One")
    site.write("/a", mood="wall")
    site.write("/a", title="Two", mood="plain")
    assert [page.title for page in site.texts.history["/a"]] == ["One", "Two"]
