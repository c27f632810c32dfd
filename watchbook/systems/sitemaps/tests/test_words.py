"""What people read about attention: the site's own status, who was told, one of a thing, and their own language."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import translation

from watchbook.base.testing.pages import squeezed
from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify.models import Delivery
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.sitemaps import actions, api
from watchbook.systems.sitemaps.parse.records import ONE, SENTENCES, Note
from watchbook.systems.sitemaps.records import error_text, note_text
from watchbook.systems.sitemaps.tests.builders import START, browser, get, make_change, make_monitor

pytestmark = pytest.mark.django_db


def page(client, name, *args):
    return squeezed(get(client, name, *args).text)


def test_failing_monitor_shows_status_and_unread_files(site, watch, alice):
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
    assert "3 not read completely" in files
    assert files.count("not read<") + files.count("not read ") >= 3
    assert "unchanged" not in files
    w.check()
    assert "all read completely" in page(client, "parts", w.monitor.pk)


def test_index_is_counted_apart_from_url_files(site, watch, alice):
    site.add_many([f"/{n}" for n in range(20)], lastmod="2026-01-01")
    site.split(2)
    w = watch()
    w.check()
    client = browser(alice)
    assert "listed by 2 files" in page(client, "monitor", w.monitor.pk)
    assert "listed by 2 files" in page(client, "snapshot", w.monitor.current_snapshot_id)
    files = page(client, "parts", w.monitor.pk)
    assert '<dd>3</dd><dd class="note">1 index that lists the others, all read completely</dd>' in files


def test_status_stays_when_the_sentence_is_translated():
    with translation.override("zh-hans"):
        text = error_text("The site has a problem of its own. (HTTP 503)")
    assert text.endswith(" (HTTP 503)")
    assert "problem" not in text


@pytest.mark.parametrize(
    ("has_channel", "words"), [(False, "the monitor had no channel"), (True, "the selected channels were disabled")]
)
def test_missing_notification_names_its_reason(alice, has_channel, words):
    monitor = make_monitor(alice)
    if has_channel:
        made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
        channel_actions.update(made.channel, is_active=False)
        actions.set_channels(monitor, [made.channel])
        monitor.channel_links.update(created_at=START - timedelta(days=9))
    record = make_change(monitor, START, added=["https://www.example.com/x"])
    assert f"No notification: {words}." in page(browser(alice), "change", record.pk)


def test_unnotified_removals_do_not_suggest_channels(alice):
    monitor = make_monitor(alice, tell_removals=False)
    record = make_change(monitor, START, removed=["https://www.example.com/x"])
    assert "this monitor does not notify about these changes" in page(browser(alice), "change", record.pk)


def test_count_of_one_uses_the_singular():
    counted = {code for code, sentence in SENTENCES.items() if sentence.startswith("%(count)d")}
    assert set(ONE) == counted
    assert Note("empty_locs", 1).message == "1 entry has no address and was skipped."
    assert note_text({"code": "empty_locs", "count": 2}) == "2 entries have no address and were skipped."


def test_every_endpoint_says_in_one_line_what_it_does():
    for path, view in api.router.path_operations.items():
        for operation in view.operations:
            first, _, rest = (operation.view_func.__doc__ or "").strip().partition("\n")
            assert first.endswith("."), (path, operation.methods)
            assert not rest or rest.startswith("\n"), f"{path}: the first line is a paragraph of its own"


@pytest.mark.parametrize(("own", "house", "subject"), [("", "zh-hans", "检查失败"), ("en", "zh-hans", "checks fail")])
def test_error_is_notified_in_language_of_owner_or_server(site, watch, alice, settings, own, house, subject):
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


def test_tab_titles_hold_no_markup(desk, alice):
    _monitor, record = desk
    client = browser(alice)
    for name, key in (("change", record.pk), ("snapshot", record.new_snapshot_id)):
        title = get(client, name, key).text.partition("<title>")[2].partition("</title>")[0]
        assert "Example Shop, " in title
        assert "time" not in title


@pytest.mark.parametrize(
    ("off", "subject"),
    [("tell_added", "1 page updated"), ("tell_modified", "1 new page"), ("tell_added tell_modified", "")],
)
def test_only_chosen_kinds_of_change_are_notified(site, watch, alice, off, subject):
    site.add("/a", lastmod="2026-01-01")
    site.add("/b", lastmod="2026-01-01")
    w = watch()
    made = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"})
    actions.change_monitor(w.monitor, {"channels": [made.channel], **dict.fromkeys(off.split(), False)})
    w.check()
    site.add("/new")
    site.edit("/a", lastmod="2026-02-01")
    w.check()
    subjects = [delivery.subject.rpartition(": ")[2] for delivery in Delivery.objects.all()]
    assert subjects == ([subject] if subject else [])
