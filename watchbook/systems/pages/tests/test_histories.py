"""Random histories of a noisy site: versions, moves, losses and delistings are what the ledger says, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standins.sitemap_site import SitemapSite
from watchbook.core.accounts.models import User
from watchbook.systems.pages.models import Page, PageVersion, Site, SiteDay
from watchbook.systems.pages.store.texts import text_of
from watchbook.systems.pages.tests.conftest import Desk, trust
from watchbook.systems.pages.tests.test_lists import publish

PATHS = [f"/piers/{number}" for number in range(5)]
WORDS = ("lantern", "ferry", "mooring", "gull", "tide", "rope", "码头", "灯笼", "渡轮")
texts = st.lists(st.sampled_from(WORDS), min_size=3, max_size=12).map(" ".join)
EDITS = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("first"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("price"), st.sampled_from(PATHS), st.sampled_from(["3.90", "4.20", "5.00"])),
    st.tuples(st.just("title"), st.sampled_from(PATHS), texts),
    st.tuples(st.just("robots"), st.sampled_from(PATHS), st.sampled_from(["noindex", "index"])),
    st.tuples(st.just("fail"), st.sampled_from(PATHS), st.sampled_from(["wall", "soft_404", "empty", "broken"])),
    st.tuples(st.just("leave"), st.sampled_from(PATHS), st.sampled_from(["gone", "stays", "redirect"])),
)


class History:
    """Plays edits on the site and knows what a perfect reader would have kept."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.fates: dict[str, str] = {}
        publish(desk, *PATHS)
        self.contents = {path: [desk.site.texts.pages[path].content] for path in PATHS}
        desk.website(daily_requests=5000)
        desk.cycle()

    def play(self, edits: list[tuple[str, str, str]]) -> None:
        """One round: edits, then one reading of everything. Pages that fail now are seen by nobody."""
        failing = []
        for kind, path, value in edits:
            if path in self.fates:
                continue
            self._edit(kind, path, value)
            failing += [path] if kind == "fail" else []
        Page.objects.filter(is_listed=True).update(next_at=self.desk.now)
        self.desk.cycle()
        for path in set(failing):
            self.desk.site.write(path, mood="plain")
        Page.objects.filter(is_listed=True).update(next_at=self.desk.now)
        self.desk.cycle()
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
        elif kind == "leave":
            self._leave(path, value)
        else:
            site.write(path, **{kind: value})

    def _leave(self, path: str, how: str) -> None:
        site = self.desk.site
        self.fates[path] = {"gone": "gone", "stays": "delisted", "redirect": "moved"}[how]
        site.remove(path)
        if how == "gone":
            site.write(path, mood="gone")
        elif how == "redirect":
            del site.texts.pages[path]
            site.redirect(path, "/")
        else:
            site.write(path, mood="plain")


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
    assert {page.path: page.fate for page in Page.objects.filter(is_listed=False)} == history.fates


def check_requests(desk: Desk) -> None:
    asked = sum(desk.site.log.count(path) for path in ("/robots.txt", "/", *PATHS))
    assert sum(SiteDay.objects.values_list("requests", flat=True)) == asked
    assert Site.objects.get().daily_requests >= max(SiteDay.objects.values_list("requests", flat=True))


@pytest.mark.django_db(transaction=True)
@given(rounds=st.lists(st.lists(EDITS, min_size=1, max_size=4), min_size=1, max_size=3))
def test_random_history_is_kept_as_the_ledger_says(rounds: list[list[tuple[str, str, str]]]) -> None:
    User.objects.all().delete()
    user = User.objects.create_user(email="alice@example.com", password="correct horse battery")
    with SitemapSite() as site, pytest.MonkeyPatch.context() as patch:
        trust(patch, site.netloc)
        history = History(Desk(user, site))
        for edits in rounds:
            history.play(edits)
        check(history)
        check_requests(history.desk)


def test_ledger_of_the_stand_in_knows_every_content() -> None:
    site: Any = SitemapSite()
    site.write("/a", title="One")
    site.write("/a", title="One")
    site.write("/a", mood="wall")
    site.write("/a", title="Two", mood="plain")
    assert [page.title for page in site.texts.history["/a"]] == ["One", "Two"]
