"""An index none of whose files can be read is a failure: for monitors, the preview and the command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from django.utils import translation

from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify.models import Delivery
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.cli import group
from watchbook.systems.sitemaps.jobs import read
from watchbook.systems.sitemaps.models import Health, Status
from watchbook.systems.sitemaps.records import error_text
from watchbook.systems.sitemaps.tests.builders import browser, get

pytestmark = pytest.mark.django_db

MESSAGE = "None of the 3 files of the sitemap index could be read."


@pytest.fixture
def index(site):
    site.add_many([f"/{n}" for n in range(30)], lastmod="2026-01-01")
    site.split(3)
    return site


def fail_all(site, status=404):
    return [site.fail_child(number, status) for number in (1, 2, 3)]


def test_index_without_readable_files_fails_and_is_notified(index, watch, alice):
    w = watch()
    made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
    actions.set_channels(w.monitor, [made.channel])
    fail_all(index)
    for _ in range(3):
        assert w.check()["failed"] == 1
    assert (w.monitor.status, w.monitor.health, w.monitor.current_snapshot) == (Status.ERROR, Health.FAILING, None)
    assert w.monitor.last_error.startswith(MESSAGE)
    assert "(HTTP 404)" in w.monitor.last_error
    assert Delivery.objects.get(kind="error").text.count("None of the 3 files") == 1
    assert "None of the 3 files" in get(browser(alice), "monitor", w.monitor.pk).text


def test_read_index_keeps_its_snapshot_when_all_files_fail(index, watch):
    w = watch()
    w.check()
    faults = fail_all(index, 500)
    assert w.check()["failed"] == 1
    assert (w.monitor.error_count, w.monitor.current_snapshot.url_count) == (1, 30)
    for fault in faults:
        fault.lift()
    assert w.check()["unchanged"] == 1
    assert (w.monitor.error_count, w.monitor.health) == (0, Health.OK)


def test_preview_of_a_dead_index_names_the_reason(index, alice):
    fail_all(index)
    typed = {"sitemap_url": index.sitemap, "name": "x", "check_interval_minutes": "60"}
    for step in ("check", "save"):
        page = browser(alice).post("/sitemaps/add/", {**typed, "step": step})
        assert page.status_code == 422
        assert MESSAGE in page.text


def test_preview_reads_the_next_file_when_the_first_is_dead(index):
    index.fail_child(1)
    found = read.preview_address(index.sitemap)
    assert (found.child_count, found.is_complete) == (3, False)


def test_reason_of_a_dead_index_is_translated():
    with translation.override("zh-hans"):
        text = error_text(f"{MESSAGE} The site says that this page does not exist. (HTTP 404)")
    assert "None" not in text
    assert "site" not in text
    assert "3" in text
    assert text.endswith("(HTTP 404)")


def run(*arguments):
    return CliRunner().invoke(group, ["check", *map(str, arguments), "--json"])


def test_command_fails_for_a_dead_index(index):
    fail_all(index)
    result = run(index.sitemap)
    assert result.exit_code != 0
    assert MESSAGE in result.output


def test_command_holds_the_removal_of_an_emptied_index(index, tmp_path):
    saved = tmp_path / "saved.json"
    assert run(index.sitemap, "--save", saved).exit_code == 0
    index.forget_child(1, 2, 3)
    result = json.loads(run(index.sitemap, "--against", saved, "--save", saved).stdout)
    assert (result["complete"], result["removed"], len(result["unconfirmed"])) == (False, [], 30)
    assert any("mass_removal" in note for note in result["notes"])
    # The saved result still lists what was known.
    assert len(saved.read_text().splitlines()) == 31


def test_command_lists_a_plain_removal(index, tmp_path):
    saved = tmp_path / "saved.json"
    run(index.sitemap, "--save", saved)
    index.remove("/7")
    result = json.loads(run(index.sitemap, "--against", saved).stdout)
    assert (result["complete"], [row["url"] for row in result["removed"]]) == (True, [index.page_url("/7")])
    assert "unconfirmed" not in result
