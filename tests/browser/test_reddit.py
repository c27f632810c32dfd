"""Reddit in a real browser: communities are imported, one becomes busy, versions are compared, charts are shown."""

from __future__ import annotations

import json
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
from standins.reddit import RedditSite
from tests.browser import findings
from tests.browser.driver import Visitor
from tests.browser.world import MEMBER, OPERATOR, PASSWORD
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("own-desks")]

DAYS = 3
FILL_SECONDS = 300
# A visit is a run in the queue; a busy machine takes its time.
PATIENCE = 120_000


@dataclass
class Reddit:
    """A stand-in Reddit with some days of history, a Watchbook that watches it, and the posts of the story."""

    site: RedditSite
    url: str
    ids: dict[str, str]


@pytest.fixture(scope="module")
def reddit(chromium: Any) -> Iterator[Reddit]:
    with RedditSite() as site, tempfile.TemporaryDirectory(prefix="watchbook-reddit-") as folder:
        site.rate_budget = 100_000
        home, port = Path(folder), free_port()
        url = f"http://127.0.0.1:{port}"
        settings = {
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": url,
            "WATCHBOOK_TRUSTED_HOSTS": site.netloc,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            **site.environment(),
        }
        ids = fill(home, site, settings)
        # By fixed tiers nothing is due every few minutes: only what the test starts is crawled.
        process = Running(home, "-m", "watchbook", "up", **settings, REDDIT_SCHEDULER="tiers")
        try:
            process.wait_for(r"Watchbook is at ")
            yield Reddit(site, url, ids)
            process.ask()
        finally:
            process.close()


def fill(home: Path, site: RedditSite, settings: dict[str, str]) -> dict[str, str]:
    plan = {"url": site.url, "days": DAYS, "people": {OPERATOR: True, MEMBER: False}, "password": PASSWORD}
    prepare_tables(home)
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.reddit_days"],
        env=environment(home, **settings), input=json.dumps(plan), capture_output=True, text=True,
        timeout=FILL_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture
def person(reddit: Reddit, visitor: Callable[..., Visitor]) -> Visitor:
    return visitor(reddit, OPERATOR)


def names(person: Visitor) -> list[str]:
    return person.page.locator("tbody th a").all_inner_texts()


def crawl_now(person: Visitor) -> None:
    """Press it, and wait until the visit has left the page."""
    person.press("Crawl now")
    person.sees("Queued.")
    person.page.locator("#work").wait_for(state="detached", timeout=PATIENCE)


def stat(person: Visitor, title: str) -> str:
    return str(
        person.page.locator(".stat", has=person.page.get_by_text(title, exact=True)).locator("dd").first.inner_text()
    )


def test_community_list_is_loaded_sorted_and_toggled(person: Visitor, reddit: Reddit, tmp_path: Path) -> None:
    reddit.site.world.add_community("lanterncraft")
    file = tmp_path / "more.csv"
    file.write_text("name,tier,categories\nlanterncraft,low,lamps\n")
    person.go("/reddit/")
    person.follow("Add community")
    person.follow("Import communities")
    person.page.get_by_label("File", exact=True).set_input_files(file)
    person.press("Import file")
    person.sees("1 communities added, 0 updated, 7 in total")

    person.page.get_by_role("columnheader", name="Community").get_by_role("link").click()
    person.arrives("**order=name*")
    assert names(person) == sorted(names(person))
    assert len(names(person)) == 7
    person.page.get_by_label("Name or tag").fill("lamps")
    person.press("Apply")
    person.arrives("**q=lamps*")
    assert names(person) == ["r/lanterncraft"]
    person.press("Disable r/lanterncraft")
    person.sees("r/lanterncraft disabled. It is no longer crawled.")
    assert "q=lamps" in person.page.url
    person.sees("disabled by an operator")
    person.press("Enable r/lanterncraft")
    person.sees("r/lanterncraft enabled")


def test_invalid_community_list_is_refused_with_a_message(person: Visitor, reddit: Reddit, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('[{"name": "harbourlights", "tier": "urgent"}]')
    person.go("/reddit/pool/")
    person.page.get_by_label("File", exact=True).set_input_files(file)
    person.press("Import file")
    person.sees("Entry 1: tier is 'urgent', expected high, medium or low.")


def test_community_that_becomes_active_moves_to_tier_1(person: Visitor, reddit: Reddit) -> None:
    person.go("/reddit/r/slowquay/")
    assert stat(person, "Tier") == "Tier 3"
    assert person.page.locator(".tier-rows [aria-current]").inner_text().startswith("Tier 3")
    now = datetime.now(UTC)
    for number in range(240):
        reddit.site.world.post("slowquay", f"Everybody is here, {number}", at=now - timedelta(minutes=240 - number))
    crawl_now(person)
    assert stat(person, "Tier") == "Tier 1"
    assert person.page.locator(".tier-rows [aria-current]").inner_text().startswith("Tier 1")
    assert float(stat(person, "Posts per day")) >= 20
    person.sees("240 new posts")
    person.sees("Everybody is here, 239")
    person.go("/reddit/?tier=tier1")
    assert "r/slowquay" in names(person)


def test_versions_of_a_post_are_compared_word_by_word(person: Visitor, reddit: Reddit) -> None:
    person.go("/reddit/posts/?q=north+pier")
    assert person.page.locator(".rows mark").first.inner_text().lower() == "north"
    person.follow("The north pier closes in November")
    person.arrives(f"**/reddit/posts/{reddit.ids['edited']}/")
    assert person.page.locator(".diff-text del").all_inner_texts() == ["rebuild", "October"]
    assert person.page.locator(".diff-text ins").all_inner_texts() == ["close", "December"]
    person.page.get_by_label("Compare").select_option("1")
    person.press("Show")
    person.arrives("**from=1*")
    assert person.page.locator(".diff-text del").all_inner_texts() == ["October"]
    person.page.locator(".log-item", has_text="Version 1").click()
    person.arrives("**to=1")
    assert "Tickets bought before October" in person.page.locator(".prose").inner_text()


def test_removed_post_is_marked_and_keeps_its_last_text(person: Visitor, reddit: Reddit) -> None:
    person.go("/reddit/posts/?state=removed")
    person.follow("Cheap tickets, write to me")
    person.sees("Removed on Reddit")
    person.sees("by moderators")
    person.sees("Do not ask where from.")
    person.go(f"/reddit/posts/{reddit.ids['deleted']}/")
    person.sees("Deleted by the author")


def test_metrics_show_charts_with_tables_and_monitor_results(person: Visitor, reddit: Reddit) -> None:
    person.go("/reddit/metrics/")
    charts = person.page.locator("figure.chart svg[role=img]:visible")
    assert charts.count() == 7
    assert all(charts.nth(number).get_attribute("aria-label") for number in range(charts.count()))
    person.page.locator("figure.chart", has_text="New posts per day").get_by_text("Show as table").click()
    assert person.page.locator("figure.chart", has_text="New posts per day").locator("tbody tr").count() >= DAYS - 1
    assert person.page.locator("section", has_text="Alert when").first.locator("tbody tr").count() == 4
    person.sees("communities crawled at least once")


def test_member_reads_everything_and_changes_nothing(reddit: Reddit, visitor: Callable[..., Visitor]) -> None:
    member = visitor(reddit, MEMBER)
    member.go("/reddit/")
    assert "r/harbourlights" in names(member)
    assert member.page.locator("#main form[method=post]:not([data-bulk])").count() == 0
    member.go("/reddit/r/harbourlights/")
    assert member.page.locator("#main form[method=post]:not([data-bulk])").count() == 0
    assert member.go("/reddit/pool/").status == 403


def test_pages_have_no_findings_in_languages_and_themes(reddit: Reddit, visitor: Callable[..., Visitor]) -> None:
    """After the story: nothing scrolls sideways, nothing is too pale, nothing is left in English."""
    paths = (
        "/reddit/", "/reddit/?q=zzz", "/reddit/r/harbourlights/", "/reddit/r/closedclub/", "/reddit/r/oldcharts/",
        "/reddit/posts/", "/reddit/posts/?q=pier", "/reddit/posts/?author=nobody",
        f"/reddit/posts/{reddit.ids['edited']}/", f"/reddit/posts/{reddit.ids['removed']}/", "/reddit/metrics/",
        "/reddit/pool/",
    )  # fmt: skip
    for language, theme in findings.SETTINGS:
        person = visitor(reddit, OPERATOR, locale=language, color_scheme=theme)
        for path in paths:
            assert person.go(path).status == 200
            assert findings.whole(person.page, language) == [], path
