"""One browser and one filled desk for all tests of this folder; where there is no Chromium, one line says so."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driver import Visitor
from tests.browser.library_desk import ADA, LibraryDesk
from tests.browser.world import Desk, World
from watchbook.base.testing import servers
from watchbook.base.testing.pages import FLAGS, started

DAYS = 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    if ours and not servers.chromium():
        reason = f"the {len(ours)} tests of tests/browser did not run: there is no Chromium on this machine"
        ours[0].add_marker(pytest.mark.skip(reason=reason))
        items[:] = [item for item in items if item not in ours[1:]]
        config.hook.pytest_deselected(items=ours[1:])


# Not for the whole session: the driver keeps an event loop in this thread, and Django's tests after us would mind it.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.fixture
def whole_chromium(chromium: Any) -> Iterator[Any]:
    """The browser with its windows: only it shows notifications."""
    browser = chromium.browser_type.launch(executable_path=servers.chromium(), args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def world(chromium: Any) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        yield World(stack)


@pytest.fixture(scope="package")
def desk(world: World) -> Iterator[Desk]:
    """Two days of history, people who may sign in, and the program running."""
    with tempfile.TemporaryDirectory(prefix="watchbook-browser-") as folder:
        made = Desk(Path(folder), world)
        made.fill(world, days=DAYS)
        with made.running():
            yield made


@pytest.fixture(scope="package")
def shelf(chromium: Any) -> Iterator[LibraryDesk]:
    """A desk of its own for the library, shared by all its tests."""
    with tempfile.TemporaryDirectory(prefix="watchbook-library-") as folder:
        made = LibraryDesk(Path(folder))
        made.fill()
        with made.running():
            yield made


@pytest.fixture(scope="package")
def sessions() -> dict[tuple[str, str], Any]:
    """Cookies of those who have signed in: a password costs a second, and only one test is about it."""
    return {}


@pytest.fixture
def visitor(chromium: Any, sessions: dict[tuple[str, str], Any]) -> Iterator[Callable[..., Visitor]]:
    """`visitor(desk)` is a browser of its own with nothing remembered, `visitor(desk, email)` one that is signed in.

    Whatever it complains about fails the test.
    """
    opened: list[Visitor] = []

    def open_one(desk: Desk, email: str = "", **options: Any) -> Visitor:
        if email and (desk.url, email) not in sessions:
            first = Visitor(chromium, desk.url)
            first.sign_in(email)
            sessions[desk.url, email] = first.context.storage_state()
            first.close()
        opened.append(Visitor(chromium, desk.url, storage_state=sessions.get((desk.url, email)), **options))
        return opened[-1]

    yield open_one
    complaints = [complaint for one in opened for complaint in one.complaints]
    for one in opened:
        one.close()
    assert complaints == []


@pytest.fixture
def ada(shelf: LibraryDesk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(shelf, ADA)
