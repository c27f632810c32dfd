"""A workspace with people in every role."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from watchbook.base import clock
from watchbook.base.testing.people import make_person
from watchbook.core import registry
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page, Space, SpaceRole, Workspace, WorkspaceRole

NAMES = ("olga", "adam", "sven", "wanda", "rene", "zita", "otto", "xaver")


@dataclass
class Desk:
    """Olga owns it, Adam is its admin; Wanda writes, Rene and Zita read, Otto is in no space, Xaver is outside."""

    workspace: Workspace
    space: Space
    people: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        people: dict[str, Any] = vars(self).get("people", {})  # empty while a copy is made
        if name not in people:
            raise AttributeError(name)
        return people[name]

    def folder(self, title: str = "Folder", parent: Page | None = None) -> Page:
        return self.page(title, "folder", parent)

    def file(self, title: str = "File", parent: Page | None = None, content: str = "") -> Page:
        return self.page(title, "file", parent, content)

    def old_file(self, title: str = "Old", space: Space | None = None) -> Page:
        """A page at the top level, from before folders were enabled."""
        actions.set_flags(self.olga, self.workspace.pk, {"folders_enabled": False})
        page = actions.create_page(self.olga, (space or self.space).pk, title=title)
        actions.set_flags(self.olga, self.workspace.pk, {"folders_enabled": True})
        return page

    def page(self, title: str, node_type: str, parent: Page | None = None, content: str = "") -> Page:
        return actions.create_page(
            self.wanda,
            self.space.pk,
            title=title,
            node_type=node_type,
            parent_page_id=parent.pk if parent else None,
            content=content,
        )


def make_desk() -> Desk:
    people = {name: make_person(name) for name in NAMES}
    workspace = make_workspace(people, "Team")
    return Desk(workspace, make_space(people, workspace, "Space"), people)


def make_workspace(people: dict[str, Any], name: str) -> Workspace:
    workspace = actions.create_workspace(people["olga"], name)
    for person in NAMES[1:-1]:
        role = WorkspaceRole.ADMIN if person == "adam" else WorkspaceRole.MEMBER
        actions.set_member(people["olga"], workspace.pk, person=people[person], role=role)
    return workspace


def make_space(people: dict[str, Any], workspace: Workspace, title: str) -> Space:
    space = actions.create_space(people["olga"], workspace.pk, title)
    for name, role in (("sven", SpaceRole.ADMIN), ("wanda", SpaceRole.WRITER)):
        actions.set_space_member(people["olga"], space.pk, person=people[name], role=role)
    for name, role in (("rene", SpaceRole.READER), ("zita", SpaceRole.READER)):
        actions.set_space_member(people["olga"], space.pk, person=people[name], role=role)
    return space


@pytest.fixture(scope="module")
def shared_desk(request: pytest.FixtureRequest, files_that_commit: frozenset[Path]) -> Desk | None:
    if request.path in files_that_commit:
        return None
    with request.getfixturevalue("shared_rows")():
        return make_desk()


@pytest.fixture
def desk(shared_desk: Desk | None, db: None) -> Desk:
    """A desk as it was made: a module makes its rows once, each test has objects of its own."""
    if shared_desk is None:
        return make_desk()
    return copy.deepcopy(shared_desk)


@pytest.fixture
def later() -> Iterator[Callable[..., None]]:
    """Holds the clock, and moves it on: later(days=30)."""
    with ExitStack() as held:

        def move(**span: float) -> None:
            held.enter_context(clock.set_to(clock.now() + timedelta(**span)))

        yield move


@pytest.fixture
def clips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system with something to clip, known to the registry for this test."""
    add_clips(monkeypatch)


def add_clips(patch: pytest.MonkeyPatch) -> None:
    room = "watchbook.systems.library.tests"
    tides = registry.Source(
        slug="tides", title="Tides", icon="stream", clip=f"{room}.clipping:clip", package=room,
        reader=registry.AddressReader(f"{room}.clipping:read", "library_test"),
        media=registry.Media(visible=f"{room}.clipping:visible"),
    )  # fmt: skip
    real = registry.sources()
    patch.setattr(registry, "sources", lambda: (*real, tides))
