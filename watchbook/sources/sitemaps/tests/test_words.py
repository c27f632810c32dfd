"""What people read about trouble: the site's own status, who was told, one of a thing, and their own language."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import translation

from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify.models import Delivery
from watchbook.core.stream.models import StreamEntry
from watchbook.sources.sitemaps import actions, api
from watchbook.sources.sitemaps.parse.notes import ONE, SENTENCES, Note
from watchbook.sources.sitemaps.sentences import error_text, note_text
from watchbook.sources.sitemaps.tests.desk import START, browser, get, make_change, make_monitor

pytestmark = pytest.mark.django_db


def page(client, name, *args):
    return get(client, name, *args).content.decode()


def test_a_failing_monitor_names_the_status_and_its_files_are_not_called_unchanged(site, watch, alice):
    site.add_many([f"/{n}" for n in range(20)], lastmod="2026-01-01")
    site.split(2)
    w = watch()
    w.check()
    w.check()
    with site.faults.on("/sitemap.xml").answer(503):
        w.check()
    assert w.monitor.last_error == "The site has a problem of its own. (HTTP 503)"
    client = browser(alice)
    assert "The site has a problem of its own. (HTTP 503)" in page(client, "monitor", w.monitor.pk)
    files = page(client, "parts", w.monitor.pk)
    assert "3 not read whole" in files
    assert files.count("not read<") + files.count("not read ") >= 3
    assert "unchanged" not in files
    w.check()
    assert "all read whole" in page(client, "parts", w.monitor.pk)


def test_the_files_that_list_urls_and_the_index_are_told_apart(site, watch, alice):
    site.add_many([f"/{n}" for n in range(20)], lastmod="2026-01-01")
    site.split(2)
    w = watch()
    w.check()
    client = browser(alice)
    assert "listed by 2 files" in page(client, "monitor", w.monitor.pk)
    assert "listed by 2 files" in page(client, "snapshot", w.monitor.current_snapshot_id)
    files = page(client, "parts", w.monitor.pk)
    assert '<dd>3</dd><dd class="note">1 index that lists the others, all read whole</dd>' in files


def test_the_status_stays_when_the_sentence_is_translated():
    with translation.override("zh-hans"):
        text = error_text("The site has a problem of its own. (HTTP 503)")
    assert text.endswith(" (HTTP 503)")
    assert "problem" not in text


@pytest.mark.parametrize(
    ("has_channel", "words"), [(False, "no channel was chosen"), (True, "the chosen channels were switched off")]
)
def test_why_nobody_was_told(alice, has_channel, words):
    monitor = make_monitor(alice)
    if has_channel:
        made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
        channel_actions.update(made.channel, is_active=False)
        actions.set_channels(monitor, [made.channel])
        monitor.channel_links.update(created_at=START - timedelta(days=9))
    record = make_change(monitor, START, added=["https://www.example.com/x"])
    assert f"Nobody was told: {words} when it was found." in page(browser(alice), "change", record.pk)


def test_removals_that_are_not_told_are_no_reason_to_choose_channels(alice):
    monitor = make_monitor(alice, tell_removals=False)
    record = make_change(monitor, START, removed=["https://www.example.com/x"])
    assert "removals of this monitor are not" in page(browser(alice), "change", record.pk)


def test_one_of_a_thing_is_said_of_one():
    counted = {code for code, sentence in SENTENCES.items() if sentence.startswith("%(count)d")}
    assert set(ONE) == counted
    assert Note("empty_locs", 1).message == "One entry has no address and was left out."
    assert note_text({"code": "empty_locs", "count": 2}) == "2 entries have no address and were left out."


def test_every_endpoint_says_in_one_line_what_it_does():
    for path, view in api.router.path_operations.items():
        for operation in view.operations:
            words = (operation.view_func.__doc__ or "").strip()
            assert words.endswith("."), (path, operation.methods)
            assert "\n" not in words, path


@pytest.mark.parametrize(("own", "house", "subject"), [("", "zh-hans", "无法"), ("en", "zh-hans", "cannot be read")])
def test_trouble_is_told_in_the_owners_language_else_in_that_of_the_house(
    site, watch, alice, settings, own, house, subject
):
    settings.LANGUAGE_CODE = house
    alice.language = own
    alice.save()
    site.add("/a")
    w = watch()
    made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
    actions.set_channels(w.monitor, [made.channel])
    w.check()
    with site.faults.on("/sitemap.xml").answer(500):
        for _ in range(3):
            w.check()
    assert subject in Delivery.objects.get(kind="error").subject
    assert subject in StreamEntry.objects.get(kind="error").title
    assert "(HTTP 500)" in Delivery.objects.get(kind="error").text
