"""The forum in a real browser: a board is crawled, listed, searched, read to its two-thousandth floor, and mended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from standins.demo import free_port
from standins.nga_board import NgaBoard
from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.world import OPERATOR, PASSWORD
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

FLOORS = 2000
# A topic of a hundred pages is read in one go while the browser waits; a busy machine takes its time.
PATIENCE = 180_000


@dataclass
class Forum:
    """A stand-in board, a Watchbook that archives it, and the topics that the story is about."""

    board: NgaBoard
    url: str
    long: int
    route: int
    quiet: int
    missing_pid: int
    edited_pid: int = 0

    def change(self) -> None:
        """Somebody edits a floor that was read, and answers, so that the topic counts as changed."""
        self.board.world.set_time(datetime.now(UTC))
        self.board.world.edit(self.route, self.edited_pid, "第三天开始把每日任务换成灯塔巡检，收益更高。")
        self.board.world.reply(self.route, "看到更新了，谢谢楼主。")
        self.board.begin_run()


def people_the_board(board: NgaBoard) -> dict[str, int]:
    """Three topics of today; the one that was opened first got the last reply."""
    world = board.world
    world.set_time(datetime.now(UTC) - timedelta(hours=5))
    route = world.add_topic("[攻略]港口巡检路线", "新手第一周的路线。灯塔每天只能巡检一次。", author="青岚听雨")
    world.mark(route, digest=True)
    world.advance(hours=1)
    quiet = world.add_topic("[水]旧灯塔的钥匙", "今天的面，评价一下。", author="南窗")
    world.advance(hours=1)
    long = world.add_topic("[水]每天一句", "盖到两千楼。", author="白露为霜")
    world.fill(long, FLOORS - 1)
    pids = [world.reply(route, f"第 {number} 条回复。", author="半夏微凉") for number in range(1, 7)]
    world.remove(route, pids[2])
    world.advance(minutes=30)
    edited = world.reply(route, "第三天开始把每日任务换成码头搬运，收益更高。", author="青岚听雨")
    board.begin_run()
    return {"long": long, "route": route, "quiet": quiet, "missing_pid": pids[2], "edited_pid": edited}


@pytest.fixture(scope="module")
def forum(chromium: Any) -> Iterator[Forum]:
    with NgaBoard() as board, tempfile.TemporaryDirectory(prefix="watchbook-forum-") as folder:
        home, port = Path(folder), free_port()
        url = f"http://127.0.0.1:{port}"
        settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": url,
            "WATCHBOOK_TRUSTED_HOSTS": board.netloc,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            "NGA_BASE_URL": board.url,
        }
        made = Forum(board, url, **people_the_board(board))
        prepare_tables(home)
        add_operator(home, settings)
        process = Running(home, "-m", "watchbook", "up", **settings)
        try:
            process.wait_for(r"Watchbook is at ")
            yield made
            process.ask()
        finally:
            process.close()


def add_operator(home: Path, settings: dict[str, str]) -> None:
    words = ["users", "add", OPERATOR, "--operator", "--verified", "--password-stdin"]
    subprocess.run(
        [sys.executable, "-m", "watchbook", *words],
        env=environment(home, **settings), input=PASSWORD, text=True, check=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def person(forum: Forum, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(forum, OPERATOR)


def rows(person: Visitor) -> list[str]:
    return person.page.locator(".rows-title").all_inner_texts()


def start(person: Visitor, button: str) -> None:
    """Press it, and wait until the work that it began has left the page."""
    person.press(button)
    person.sees("Added to the queue.")
    person.page.locator("#work").wait_for(state="detached", timeout=PATIENCE)


def test_board_is_crawled_listed_searched_and_read(person: Visitor, forum: Forum) -> None:
    person.go("/nga/")
    person.press("Add board 7 艾泽拉斯议事厅")
    person.sees("Board added. The first crawl is in the queue.")
    person.page.locator("#work").wait_for(state="detached", timeout=PATIENCE)
    assert rows(person) == ["每天一句", "旧灯塔的钥匙", "港口巡检路线"]
    person.page.get_by_label("Sort by").select_option("last_reply")
    person.press("Apply")
    person.arrives("**order=last_reply*")
    assert rows(person)[0] == "港口巡检路线"

    person.page.get_by_label("Featured").check()
    person.press("Apply")
    person.arrives("**digest=1*")
    assert rows(person) == ["港口巡检路线"]
    person.page.locator(".chip[aria-current]").click()
    person.page.get_by_label("Author", exact=True).fill("南窗")
    person.press("Apply")
    person.arrives("**author=*")
    assert rows(person) == ["旧灯塔的钥匙"]

    search_for(person, "灯塔")
    read_two_thousand_floors(person, forum)
    see_what_changed(person, forum)
    mend_the_gap(person, forum)


def search_for(person: Visitor, words: str) -> None:
    """A word of two characters: the title that has it stands above the opening post that has it."""
    person.go("/nga/")
    person.page.get_by_label("Title or opening post").fill(words)
    person.page.keyboard.press("Enter")
    person.arrives("**/nga/search/**")
    assert rows(person) == ["[水]旧灯塔的钥匙", "[攻略]港口巡检路线"]
    assert person.page.locator(".hits mark").all_inner_texts() == [words, words]


def read_two_thousand_floors(person: Visitor, forum: Forum) -> None:
    topic = f"/nga/topics/{forum.long}/"
    person.go(topic)
    person.sees("Backfilling")
    start(person, "Crawl now")
    person.sees("2,000 of 2,000 posts")
    assert person.page.locator(".cells rect").count() == FLOORS // 20
    person.page.get_by_label("Go to post").fill("1234")
    person.press("Go")
    person.arrives(f"**{topic}?page=62#f1234")
    assert person.page.locator("article.floor").count() == 20
    assert person.page.locator("#f1234").evaluate("node => node.matches(':target')")
    person.go(f"{topic}floors/1999/")
    assert person.page.locator("article.floor").last.get_attribute("id") == "f1999"
    person.follow("Only this author")
    person.arrives("**author_id=*")
    assert set(person.page.locator(".floor-author").all_inner_texts()) == {"白露为霜"}


def see_what_changed(person: Visitor, forum: Forum) -> None:
    """An edited floor keeps its old text, and the difference is shown word by word."""
    forum.change()
    person.go("/nga/")
    start(person, "Crawl now")
    person.go(f"/nga/topics/{forum.route}/")
    floor = person.page.locator("article.floor", has_text="灯塔巡检，收益更高")
    assert "Edited" in floor.inner_text()
    floor.get_by_role("link", name="Show changes").click()
    person.sees("2 versions: changes from 1 to 2")
    assert person.page.locator(".diff-text del").all_inner_texts() == ["码头搬运"]
    assert person.page.locator(".diff-text ins").all_inner_texts() == ["灯塔巡检"]
    person.page.locator("article.floor", has_text="灯塔巡检，收益更高").get_by_role("link", name="2 versions").click()
    person.sees("Current version")
    person.page.locator(".log-item", has_text="Version 1").click()
    person.arrives("**to=1")
    person.sees("第三天开始把每日任务换成码头搬运")


def mend_the_gap(person: Visitor, forum: Forum) -> None:
    """The board shows a floor again that it had hidden; a repair fetches it and nothing else."""
    topic = f"/nga/topics/{forum.route}/"
    person.go(topic)
    gap = person.page.locator(".gap")
    assert "1 post is missing." in gap.inner_text()
    forum.board.world.restore(forum.route, forum.missing_pid)
    person.go("/nga/audits/")
    start(person, "Repair now")
    person.page.locator("tbody a").first.click()
    person.sees("Repaired")
    person.follow("Posts")
    person.arrives("**show=floors")
    person.follow("#3")
    person.arrives(f"**{topic}#f3")
    person.sees("第 3 条回复。")
    assert person.page.locator(".gap").count() == 0


def test_pages_have_no_findings_in_languages_and_themes(forum: Forum, visitor: Callable[..., Visitor]) -> None:
    """After the story: nothing scrolls sideways, nothing is too pale, nothing is left in English."""
    topic = f"/nga/topics/{forum.route}/"
    paths = (
        "/nga/", "/nga/search/?q=灯塔", topic, f"{topic}floors/7/versions/", f"{topic}feed/", "/nga/runs/",
        "/nga/runs/1/", "/nga/audits/", "/nga/audits/1/", "/nga/forums/",
    )  # fmt: skip
    for language, theme in findings.SETTINGS:
        person = visitor(forum, OPERATOR, locale=language, color_scheme=theme)
        for path in paths:
            assert person.go(path).status == 200
            assert findings.whole(person.page, language) == [], path
