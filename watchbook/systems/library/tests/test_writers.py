"""Two and three members who write one page at the same time, in threads: no word lost, none doubled, titles merged."""

from __future__ import annotations

import random
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.systems.library import actions
from watchbook.systems.library.errors import VersionConflict
from watchbook.systems.library.models import Page, PageVersion
from watchbook.systems.library.tests.test_together import together

pytestmark = pytest.mark.django_db(transaction=True)

FEW = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
ROUNDS = 3
TEXT = "".join(f"<p>{' '.join(f'w{line}x{place}' for place in range(8))}</p>" for line in range(4))


class Writer:
    """Reads with the others, adds a word of their own somewhere, and saves; all at the same time."""

    def __init__(self, user: Any, page: Page, name: str, seed: int, start: Barrier) -> None:
        self.user, self.page, self.name, self.start = user, page, name, start
        self.dice = random.Random(seed)
        self.added: list[str] = []
        self.conflicts = 0

    def write(self) -> None:
        for turn in range(ROUNDS):
            read = Page.objects.get(pk=self.page.pk)
            self.start.wait(timeout=60)
            word = f"{self.name}{turn}"
            changed = self.changed(read.content, word)
            try:
                actions.save_page(self.user, self.page.pk, version=read.version, content=changed, autosave=True)
                self.added.append(word)
            except VersionConflict:
                self.conflicts += 1
            self.start.wait(timeout=60)

    def changed(self, content: str, word: str) -> str:
        lines = content.removesuffix("</p>").split("</p>")
        line = self.dice.randrange(len(lines))
        words = lines[line].split(" ")
        words.insert(self.dice.randrange(1, len(words) + 1), word)
        lines[line] = " ".join(words)
        return "".join(f"{one}</p>" for one in lines)


@pytest.mark.parametrize("names", [("ada", "moss"), ("ada", "moss", "lin")])
@given(seed=st.integers(0, 10_000))
@FEW
def test_writers_at_the_same_time_lose_no_word(desk, names, seed):
    page = desk.file("Tides", desk.folder("Home"), TEXT)
    people = (desk.wanda, desk.sven, desk.olga)
    start = Barrier(len(names))
    writers = [
        Writer(user, page, name, seed + number, start)
        for number, (user, name) in enumerate(zip(people, names, strict=False))
    ]
    together(*(writer.write for writer in writers))
    saved = Page.objects.get(pk=page.pk)
    words = saved.content.replace("<p>", " ").replace("</p>", " ").split()
    for writer in writers:
        assert writer.conflicts == 0, "words were only added"
        for word in writer.added:
            assert words.count(word) == 1, word
    before = [word for word in words if word.startswith("w")]
    assert before == TEXT.replace("<p>", " ").replace("</p>", " ").split()
    assert saved.version == 1 + len(names) * ROUNDS
    newest = PageVersion.objects.get(page=page, number=saved.version)
    assert newest.content == saved.content


def test_titles_changed_at_the_same_time_are_merged_by_words(desk):
    page = desk.file("Tide table", desk.folder("Home"), TEXT)
    together(
        lambda: actions.save_page(desk.wanda, page.pk, version=1, title="Tide table 2026"),
        lambda: actions.save_page(desk.sven, page.pk, version=1, title="Harbour tide table"),
    )
    assert Page.objects.get(pk=page.pk).title == "Harbour tide table 2026"


def test_same_word_changed_at_the_same_time_is_a_conflict_for_one(desk):
    page = desk.file("Tides", desk.folder("Home"), "<p>High at six.</p>")
    refused = []

    def change(user: Any, hour: str) -> None:
        try:
            actions.save_page(user, page.pk, version=1, content=f"<p>High at {hour}.</p>")
        except VersionConflict as conflict:
            refused.append(conflict.details["yours"]["content"])

    together(lambda: change(desk.wanda, "seven"), lambda: change(desk.sven, "eight"))
    saved = Page.objects.get(pk=page.pk).content
    assert len(refused) == 1
    assert {saved, *refused} == {"<p>High at seven.</p>", "<p>High at eight.</p>"}
