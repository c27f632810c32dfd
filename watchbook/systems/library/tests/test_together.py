"""Many people and a migration at once: no ring, no broken matrix, nobody lost, and the way back is exact."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import NIGHTLY
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Cycle, Problem
from watchbook.systems.library.jobs import migrations
from watchbook.systems.library.models import Page, PageVersion, TrashBatch
from watchbook.systems.library.models.tree import between
from watchbook.systems.library.store import migrations as moves
from watchbook.systems.library.store.reconcile import reconcile

pytestmark = pytest.mark.django_db(transaction=True)

HISTORIES = settings(
    max_examples=20 if NIGHTLY else 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LAST_SHARE = 3  # the pages that are moved during the rollback
ACTS = ("folder", "file", "move", "move", "move", "bulk", "trash", "restore", "copy", "pin", "save", "beside")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """So that a migration of two dozen pages takes several steps."""
    monkeypatch.setattr(moves, "BATCH", 3)


def together(*stories: Any) -> list[Any]:
    """All at once, each on its own connection; an error that is no refusal comes through."""
    start = Barrier(len(stories))

    def tell(story: Any) -> Any:
        start.wait()
        try:
            return story()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(stories)) as threads:
        return [future.result() for future in [threads.submit(tell, story) for story in stories]]


def refusal(act: Any, wanted: set[Any]) -> Problem | None:
    """None when it was done, else the refusal, which must be of a wanted status or code."""
    try:
        act()
    except Problem as refused:
        if wanted & {refused.status, refused.code}:
            return refused
        raise
    return None


class Person:
    """Somebody who does random things to pages he knows of."""

    def __init__(self, desk: Any, space: Any, known: list[Page], seed: int) -> None:
        self.desk, self.space, self.known, self.dice = desk, space, known, random.Random(seed)
        self.made: list[Any] = []

    def act_often(self, times: int) -> None:
        for _ in range(times):
            refusal(getattr(self, self.dice.choice(ACTS)), {404, 409, 422})

    def one(self) -> Any:
        return self.dice.choice(self.known).pk

    def _add(self, kind: str) -> None:
        parent = self.one() if self.dice.random() < 0.9 else None
        page = actions.create_page(
            self.desk.wanda, self.space.pk, title=f"{kind} {self.dice.random()}", node_type=kind, parent_page_id=parent
        )
        self.known.append(page)
        self.made.append(page.pk)

    def folder(self) -> None:
        self._add("folder")

    def file(self) -> None:
        self._add("file")

    def move(self) -> None:
        target = self.one() if self.dice.random() < 0.9 else None
        actions.move_page(self.desk.wanda, self.one(), parent_page_id=target)

    def beside(self) -> None:
        sibling = Page.objects.get(pk=self.one())
        actions.move_page(self.desk.wanda, self.one(), parent_page_id=sibling.parent_page_id, after_page_id=sibling.pk)

    def bulk(self) -> None:
        actions.bulk_move(self.desk.wanda, [self.one() for _ in range(3)], parent_page_id=self.one())

    def trash(self) -> None:
        actions.trash_page(self.desk.wanda, self.one())

    def restore(self) -> None:
        actions.restore_page(self.desk.wanda, self.one())

    def copy(self) -> None:
        if Page.objects.filter(space=self.space).count() < 150:
            actions.duplicate_page(self.desk.wanda, self.one())

    def pin(self) -> None:
        actions.pin_page(self.desk.wanda, self.one(), pinned=self.dice.random() < 0.5)

    def save(self) -> None:
        page = actions.open_page(self.desk.wanda, self.one())
        actions.save_page(self.desk.wanda, page.pk, version=page.version, title=f"{self.dice.random()}")


def check(desk: Any, space: Any) -> None:
    for found in reconcile(desk.workspace):
        assert found.is_ok, found
    live = Page.objects.live().filter(space=space).with_type()
    kinds = {page.pk: page.node_type for page in live}
    for page in live:
        if page.parent_page_id is None:
            assert page.node_type == "folder" or page.moved_at is None, "no person put a file at the top level"
        else:
            assert (kinds[page.parent_page_id], page.node_type) != ("file", "folder")
    rows: dict[Any, list[Page]] = {}
    for page in live.in_order():
        rows.setdefault(page.parent_page_id, []).append(page)
    for row in rows.values():
        assert all(between(None, page.sort_key) < page.sort_key for page in row), "every key is one"
        assert len({(page.sort_key, page.pk) for page in row}) == len(row)


def plant(desk: Any, space: Any) -> list[Page]:
    made = []
    for n in range(3):
        top = actions.create_page(desk.wanda, space.pk, title=f"top {n}", node_type="folder")
        for kind in ("folder", "file"):
            page = actions.create_page(desk.wanda, space.pk, title=f"{kind} {n}", node_type=kind, parent_page_id=top.pk)
            made.append(page)
        made.append(top)
    return made


def new_space(desk: Any) -> Any:
    space = actions.create_space(desk.olga, desk.workspace.pk, "Busy")
    actions.set_space_member(desk.olga, space.pk, person=desk.wanda, role="writer")
    return space


@HISTORIES
@given(seeds=st.lists(st.integers(0, 10**6), min_size=4, max_size=4, unique=True))
def test_parallel_users(desk, seeds):
    space = new_space(desk)
    known = plant(desk, space)
    people = [Person(desk, space, known, seed) for seed in seeds]
    together(*(lambda person=person: person.act_often(25) for person in people))
    check(desk, space)
    there = set(Page.objects.filter(space=space).values_list("pk", flat=True))
    assert {pk for person in people for pk in person.made} <= there, "a page is never lost"
    assert (
        Page.objects.filter(space=space).count() == PageVersion.objects.filter(page__space=space, number=1).count()
    ), "and never without its first version"
    _restore_everything(desk, space)
    check(desk, space)


def _restore_everything(desk: Any, space: Any) -> None:
    """Newest first, each batch comes back to where it was with exactly what it took."""
    for batch in TrashBatch.objects.filter(space=space, restored_at=None).order_by("-deleted_at", "-pk"):
        wanted = dict(batch.pages.values_list("pk", "parent_page_id"))
        assert len(wanted) == batch.page_count
        if refusal(lambda: actions.restore_page(desk.wanda, batch.page_id), {"no_legal_place"}):  # noqa: B023
            continue
        back = dict(Page.objects.live().filter(pk__in=wanted).values_list("pk", "parent_page_id"))
        wanted.pop(batch.page_id)
        back.pop(batch.page_id)
        assert back == wanted


@HISTORIES
@given(seed=st.integers(0, 10**6), stop=st.sampled_from(["none", "pause", "cancel"]))
def test_people_during_a_migration_keep_what_they_moved(desk, seed, stop):
    space = new_space(desk)
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    files = [actions.create_page(desk.wanda, space.pk, title=f"{n}") for n in range(24)]
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
    homes = [actions.create_page(desk.wanda, space.pk, title="home", node_type="folder") for _ in range(2)]
    job = actions.start_migration(desk.olga, space.pk)
    put: dict[Any, Any] = {}

    def move_some(share: int) -> None:
        dice = random.Random(seed + share)
        for page in files[share::4]:  # each page has one mover, so the last word is known
            if dice.random() < 0.6:
                home = dice.choice(homes)
                # While a job is rolled back, no page can be moved.
                move = partial(actions.move_page, desk.wanda, page.pk, parent_page_id=home.pk)
                if refusal(move, {409} if share == LAST_SHARE else set()) is None:
                    put[page.pk] = home.pk

    def migrate() -> None:
        run_now("library.migrate", {"job_id": str(job.pk)}, exclusive=f"library:{space.pk}")

    def steer_it() -> None:
        if stop != "none":
            refusal(lambda: getattr(migrations, stop)(job, desk.olga), {"job_over"})

    together(migrate, steer_it, *(lambda share=share: move_some(share) for share in range(3)))
    check_job(job)
    if stop == "pause":
        refusal(lambda: migrations.resume(job, desk.olga), {"job_over"})
        migrate()
    job.refresh_from_db()
    assert job.status in {"success", "failed", "canceled"}
    migrations.begin_rollback(job, desk.olga)

    def roll_back() -> None:
        run_now("library.rollback", {"job_id": str(job.pk)}, exclusive=f"library:{space.pk}")

    together(roll_back, lambda: move_some(LAST_SHARE))
    parents = dict(Page.objects.filter(pk__in=[page.pk for page in files]).values_list("pk", "parent_page_id"))
    assert parents == {page.pk: put.get(page.pk) for page in files}
    reported = set(job.items.exclude(error_code=None).values_list("page_id", flat=True))
    moved_in_time = {item.page_id for item in job.items.filter(status__in=["conflict", "failed"])}
    assert moved_in_time == reported
    assert moved_in_time - set(put) == set() or stop == "cancel"
    check(desk, space)


def check_job(job: Any) -> None:
    """At any moment an item says what is true of its page, unless a person moved it."""
    for item in job.items.select_related("page"):
        if item.status == "pending":
            assert item.page.parent_page_id != item.new_parent_page_id


def test_moves_that_would_form_a_cycle_are_refused(desk):
    """A below B's child and B below A's child at the same moment: one of them is refused."""
    for _ in range(10):
        space = new_space(desk)
        tops = [actions.create_page(desk.wanda, space.pk, title=t, node_type="folder") for t in "ab"]
        inner = [
            actions.create_page(desk.wanda, space.pk, title="inner", node_type="folder", parent_page_id=top.pk)
            for top in tops
        ]

        def move(page: Any, target: Any) -> str:
            try:
                actions.move_page(desk.wanda, page.pk, parent_page_id=target.pk)
            except Cycle:
                return "refused"
            return "moved"

        said = together(lambda: move(tops[0], inner[1]), lambda: move(tops[1], inner[0]))  # noqa: B023 - runs at once
        assert sorted(said) == ["moved", "refused"]
        check(desk, space)


def test_two_writers_lose_nothing(desk):
    page = desk.file("Page", desk.folder("Home"), "<p>base</p>")

    def save(text: str) -> str:
        refused = refusal(lambda: actions.save_page(desk.wanda, page.pk, version=1, content=text), {"version_conflict"})
        return refused.details["yours"]["content"] if refused else "saved"

    texts = ("<p>a</p>", "<p>b</p>", "<p>c</p>")
    said = together(*(lambda text=text: save(text) for text in texts))
    assert said.count("saved") == 1
    kept = actions.open_page(desk.rene, page.pk).content
    assert {kept, *said} - {"saved"} == set(texts)


def test_two_starts_make_one_job(desk):
    desk.old_file()

    def start() -> str:
        try:
            actions.start_migration(desk.olga, desk.space.pk)
        except Problem as refused:
            return refused.code
        return "started"

    assert sorted(together(start, start, start)) == ["job_active", "job_active", "started"]
