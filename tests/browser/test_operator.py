"""The operator's pages: jobs that run, alerts, health, what was done by whom."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from standins.wire import Exchange
from tests.browser.driver import Visitor
from tests.browser.fill import NAMES
from tests.browser.world import MEMBER, OPERATOR, Desk, World
from watchbook.core.ops.tests.processes import until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

HELD_SECONDS = 60


@pytest.fixture
def operator(desk: Desk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(desk, OPERATOR)


@pytest.fixture
def held(world: World) -> Iterator[threading.Event]:
    """The shop does not answer before the event is set."""
    go_on = threading.Event()

    def wait(exchange: Exchange) -> None:
        go_on.wait(HELD_SECONDS)
        exchange.send(exchange.ordinary())

    with world.sites["shop"].faults.on("/sitemap.xml").treat(wait):
        yield go_on
        go_on.set()


def test_running_job_is_shown_until_it_ends(operator: Visitor, held: threading.Event) -> None:
    operator.go("/sitemaps/")
    operator.follow(NAMES["shop"])
    operator.press("Check now")
    operator.page.locator("#work .badge", has_text="Running").wait_for()
    operator.go("/operations/jobs/")
    work = operator.page.locator("#running .work", has_text="Check sitemap")
    work.locator(".badge", has_text="Running").wait_for()
    work.locator("h3 a").click()
    operator.sees("You can leave this page. The run continues.")
    held.set()
    operator.page.locator(".page-head .badge", has_text="Done").wait_for()


def test_manual_job_run_is_in_the_audit_log(operator: Visitor) -> None:
    operator.go("/operations/jobs/")
    operator.press("Run Delete old runs now")
    operator.sees("is queued as run")
    operator.follow("Delete old runs")
    newest = operator.page.locator("tbody tr").first
    assert newest.locator("td[data-label='Started by']").inner_text() == OPERATOR
    newest.locator("th a").click()
    ended = operator.page.locator(".page-head .badge", has_text="Done").or_(
        operator.page.locator(".page-head .badge", has_text="Nothing to do")
    )
    ended.wait_for()


def test_backup_is_created_and_listed(operator: Visitor) -> None:
    operator.go("/operations/backups/")
    known = operator.page.locator("tbody tr").count()
    operator.press("Back up now")
    operator.page.wait_for_load_state()

    def listed() -> bool:
        operator.go("/operations/backups/")
        return operator.page.locator("tbody tr").count() > known

    until(listed)


def test_alerts_are_shown_on_their_page_and_in_the_bell(operator: Visitor) -> None:
    operator.go("/")
    operator.page.get_by_role("link", name="2 open alerts").first.click()
    operator.sees("Old Mill Museum cannot be read")
    operator.sees("The disk is nearly full")
    operator.sees("71 % in use")


def test_operations_page_shows_the_state_of_the_server(operator: Visitor) -> None:
    operator.go("/")
    operator.follow("Operations")
    operator.sees("Workers")
    assert operator.page.locator("tbody .badge").count() > 3


def test_audit_log_shows_who_did_what(desk: Desk, operator: Visitor, visitor: Callable[..., Visitor]) -> None:
    visitor(desk, MEMBER)
    operator.go("/operations/jobs/")
    operator.press("Run Delete old activity now")
    operator.sees("is queued as run")
    operator.follow("Audit log")
    rows = operator.page.locator("tbody tr")
    assert "stream.clean" in rows.first.inner_text()
    assert OPERATOR in rows.first.inner_text()
    operator.page.get_by_label("User e-mail").fill(MEMBER)
    operator.press("Apply")
    operator.arrives("**who=*")
    people = set(operator.page.locator("td[data-label=Who]").all_inner_texts())
    assert people == {MEMBER}


def test_member_cannot_open_operations(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    member = visitor(desk, MEMBER)
    member.go("/")
    assert member.page.get_by_role("link", name="Operations").count() == 0
    assert member.go("/operations/jobs/").status == 403
    assert member.page.get_by_role("heading", level=1).count() == 1
