"""Notes in a real browser: a cookie goes in and is never seen again, a collection is watched to its end, a P0 opens
and closes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from standins.demo import free_port
from standins.note_platform import NotePlatform
from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.world import MEMBER, OPERATOR, PASSWORD
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

SESSION = "made-up-session-of-the-browser-7731"
NOTES = 26
# Ten notes are a batch. One of the first and one of the second hang until somebody has looked at the counts.
GONE, HANGING = 2, (5, 15)
PATIENCE = 120_000


@dataclass
class Desk:
    """A stand-in platform, and a Watchbook that collects from it."""

    platform: NotePlatform
    url: str
    cookie: str
    process: Running

    @property
    def log(self) -> str:
        return "".join(self.process.lines)

    def wake(self, number: int) -> None:
        """A note that hung answers from now on."""
        self.platform.mood(list(self.platform.ledger.notes)[number - 1], "fine")


def people_the_platform(platform: NotePlatform) -> None:
    for number in range(1, NOTES + 1):
        kind = "video" if number % 5 == 0 else "normal"
        platform.add(f"灯会散步 {number}", "江边的灯七点亮起。", tags=["灯会"], kind=kind, liked="1.2万")
    ids = list(platform.ledger.notes)
    platform.mood(ids[GONE - 1], "gone")
    for number in HANGING:
        platform.mood(ids[number - 1], "hang")


@pytest.fixture(scope="module")
def desk(chromium: Any) -> Iterator[Desk]:
    with NotePlatform() as platform, tempfile.TemporaryDirectory(prefix="watchbook-notes-") as folder:
        home, port = Path(folder), free_port()
        url = f"http://127.0.0.1:{port}"
        settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": url,
            "WATCHBOOK_TRUSTED_HOSTS": platform.netloc,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_LOG_LEVEL": "INFO",
            "NOTES_ADAPTER": "standin",
            "NOTES_STANDIN_URL": platform.url,
            "NOTES_PAGE_URL": platform.url,
            "NOTES_SEARCH_PAGES": "3",
            "NOTES_DETAIL_TIMEOUT_SECONDS": "0.5",
            "COOKIE_MASTER_KEY": "made-up-master-key-of-forty-characters-1",
        }
        people_the_platform(platform)
        cookie = platform.add_account(SESSION)
        prepare_tables(home)
        add_person(home, settings, OPERATOR, "--operator")
        add_person(home, settings, MEMBER)
        process = Running(home, "-m", "watchbook", "up", **settings)
        try:
            process.wait_for(r"Watchbook is at ")
            yield Desk(platform, url, cookie, process)
            process.ask()
        finally:
            process.close()


def add_person(home: Path, settings: dict[str, str], email: str, *words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "watchbook", "users", "add", email, *words, "--verified", "--password-stdin"],
        env=environment(home, **settings), input=PASSWORD, text=True, check=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def person(desk: Desk, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(desk, OPERATOR)


def run_job(person: Visitor, name: str) -> None:
    """By its button on the page of the job, and to its end."""
    person.go(f"/operations/jobs/{name}/")
    before = person.page.locator("tbody tr").count()
    person.press("Run now")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        person.go(f"/operations/jobs/{name}/")
        rows = person.page.locator("tbody tr")
        if rows.count() > before and not any(
            word in rows.first.inner_text() for word in ("Running", "Queued", "Waiting")
        ):
            return
    raise AssertionError(f"{name} did not end")


def state_of(person: Visitor, level: str) -> str:
    person.go("/notes/alerts/")
    return person.page.locator("tbody tr", has_text=level).first.inner_text()


def test_empty_cookie_pool_becomes_collected_notes(person: Visitor, desk: Desk) -> None:
    pause_the_schedule(person)
    see_the_alert_open(person)
    put_a_cookie_in(person, desk)
    see_the_alert_close(person)
    search_a_word(person)
    watch_a_collection(person, desk)
    read_a_note(person)
    assert SESSION not in desk.log


def pause_the_schedule(person: Visitor) -> None:
    """What happens in this story happens by hand, at its time."""
    person.go("/operations/jobs/")
    person.press("Pause all jobs")
    person.page.get_by_role("button", name="Resume all jobs").wait_for()


def see_the_alert_open(person: Visitor) -> None:
    """An adapter is on and there is no cookie: the first look of the watch opens P0."""
    run_job(person, "notes.watch")
    assert "Open" in state_of(person, "P0")
    person.follow("All alerts")
    person.sees("No usable cookies")
    person.follow("Show")
    person.arrives("**/notes/cookies/")
    person.sees("No cookies yet")


def put_a_cookie_in(person: Visitor, desk: Desk) -> None:
    """First with a mistake: what was typed is there again, and the cookie is not."""
    page = person.page
    page.get_by_label("Name").fill("desk-a")
    page.get_by_label("Cookie", exact=True).fill(desk.cookie)
    page.get_by_label("Priority").fill("5000")
    person.press("Add cookie")
    person.sees("Paste the cookie again. The form does not keep it.")
    assert page.get_by_label("Name").input_value() == "desk-a"
    assert page.get_by_label("Cookie", exact=True).input_value() == ""
    assert SESSION not in page.content()
    page.get_by_label("Priority").fill("5")
    page.get_by_label("Cookie", exact=True).fill(desk.cookie)
    person.press("Add cookie")
    person.sees("desk-a was encrypted and added.")
    page.get_by_role("link", name="desk-a", exact=True).click()
    person.press("Test cookie")
    person.sees("The platform accepted the cookie.")
    for path in (person.path, "/notes/cookies/", "/audit/", "/operations/jobs/notes.watch/"):
        person.go(path)
        assert SESSION not in page.content(), path
    # Nor does going back bring it up again.
    page.go_back()
    assert SESSION not in page.content()


def see_the_alert_close(person: Visitor) -> None:
    run_job(person, "notes.watch")
    assert "Resolved" in state_of(person, "P0")
    history = person.page.locator("section", has_text="History").locator("tbody tr").first
    assert "No usable cookies" in history.inner_text()


def search_a_word(person: Visitor) -> None:
    person.go("/notes/keywords/")
    person.page.get_by_label("Keyword").fill("灯会")
    person.press("Add keyword")
    person.sees("Keyword added: 灯会")
    person.press("Search now")
    person.sees("Search queued.")
    person.page.locator("#work").wait_for(state="detached", timeout=PATIENCE)
    person.go("/notes/?status=pending")
    person.page.get_by_role("link", name="Remove filter Pending").wait_for()
    person.sees(f"{NOTES} results")


def watch_a_collection(person: Visitor, desk: Desk) -> None:
    """The counts move while it runs; nobody touches the page, and it shows the end by itself."""
    person.go("/notes/executions/")
    person.press("Collect now")
    person.sees("Run queued.")
    hanging = iter(HANGING)
    for settled in (0, 10):
        bar = person.page.locator(f'#work progress[value="{settled}"][max="{NOTES}"]')
        bar.wait_for(state="attached", timeout=PATIENCE)
        # Claimed a moment after the bar is drawn; the next swap shows it.
        person.page.locator("#work", has_text="10 in progress").wait_for(timeout=PATIENCE)
        desk.wake(next(hanging))
    person.page.locator("#work").wait_for(state="detached", timeout=PATIENCE)
    row = person.page.locator("tbody tr").first
    row.get_by_text("Partial").wait_for()
    row.get_by_role("link").click()
    person.arrives("**/notes/executions/exec-*/")
    person.sees("The note does not exist or is not public.")
    assert person.page.locator("tbody tr").count() == NOTES
    assert person.page.locator("tbody tr", has_text="Collected").count() == NOTES - 1


def read_a_note(person: Visitor) -> None:
    person.go("/notes/notes/")
    person.follow("灯会散步 1")
    person.sees("(rounded)")
    person.sees("江边的灯七点亮起。")
    assert person.page.locator("img").count() == 0
    person.go("/search/?q=灯会散步&source=notes")
    person.page.locator(".hits a").first.click()
    person.arrives("**/notes/note/*/")


def test_failed_note_is_retried_and_one_is_deleted(person: Visitor) -> None:
    person.go("/notes/?status=failed")
    rows = person.page.locator("tbody tr")
    failed = rows.count()
    assert failed
    rows.first.get_by_role("button", name="Retry").click()
    person.sees("1 candidate is pending again.")
    assert person.page.locator("tbody tr").count() == failed - 1
    person.go("/notes/notes/")
    person.follow("灯会散步 3")
    person.follow("Delete")
    person.press("Delete this note")
    person.sees("Note deleted.")
    assert person.page.get_by_role("link", name="灯会散步 3", exact=True).count() == 0


def test_member_reads_notes_without_action_buttons(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    member = visitor(desk, MEMBER)
    for path in ("/notes/", "/notes/notes/", "/notes/keywords/", "/notes/executions/", "/notes/alerts/"):
        assert member.go(path).status == 200
        assert member.page.locator("#main form[method=post]:not([data-bulk])").count() == 0
        assert member.page.get_by_role("link", name="Cookie pool").count() == 0
    assert member.go("/notes/cookies/").status == 403


def test_pages_have_no_findings_in_languages_and_themes(desk: Desk, visitor: Callable[..., Visitor]) -> None:
    """After the story: nothing scrolls sideways, nothing is too pale, nothing is left in English."""
    first = visitor(desk, OPERATOR)
    paths = ["/notes/", "/notes/?status=failed", "/notes/notes/", "/notes/keywords/", "/notes/cookies/",
             "/notes/cookies/1/", "/notes/executions/", "/notes/alerts/"]  # fmt: skip
    for page, link in (("/notes/executions/", "tbody th a"), ("/notes/notes/", ".card-title")):
        first.go(page)
        paths.append(str(first.page.locator(link).first.get_attribute("href")))
    paths.append(f"{paths[-1]}delete/")
    for language, theme in findings.SETTINGS:
        person = visitor(desk, OPERATOR, locale=language, color_scheme=theme)
        for path in paths:
            assert person.go(path).status == 200
            assert findings.whole(person.page, language) == [], path
