"""Comments, mentions, watching, presence and suggested edits: who may, who is notified, what a purge removes."""

from __future__ import annotations

import pytest

from watchbook.core.jobs.runner import run_now
from watchbook.core.notify.models import Delivery
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Conflict, NotAllowed, NotFound, VersionConflict, Wrong
from watchbook.systems.library.models import CommentThread, Page, Presence, Suggestion
from watchbook.systems.library.tests.test_pages import client_of, url

HTMX = {"headers": {"HX-Request": "true"}}


@pytest.fixture
def page(desk):
    return desk.file("Tides", desk.folder("Home"), "<p>High at six, low at noon.</p>")


def notified() -> set[tuple[str, str]]:
    """Who got which kind of notification."""
    return {
        (one.channel.user.email.partition("@")[0], one.kind) for one in Delivery.objects.select_related("channel__user")
    }


def test_viewers_comment_reply_and_resolve_their_own_thread(desk, page):
    first = actions.add_comment(desk.rene, page.pk, words="Still true?", quote="High at  six")
    actions.reply_to(desk.wanda, first.thread_id, words="Yes.")
    [thread] = actions.list_threads(desk.zita, page.pk)
    assert thread.quote == "High at six"
    assert [comment.text for comment in thread.comments.all()] == ["Still true?", "Yes."]
    with pytest.raises(NotAllowed):
        actions.resolve_thread(desk.zita, thread.pk)
    actions.resolve_thread(desk.rene, thread.pk)
    assert actions.list_threads(desk.wanda, page.pk) == []
    actions.reply_to(desk.zita, thread.pk, words="Not quite.")
    assert [one.pk for one in actions.list_threads(desk.wanda, page.pk)] == [thread.pk]
    with pytest.raises(NotFound):
        actions.reply_to(desk.xaver, thread.pk, words="?")
    with pytest.raises(Wrong):
        actions.add_comment(desk.rene, page.pk, words=" \n ")


def test_comment_notifies_the_named_the_thread_and_watchers_once(desk, page):
    actions.set_watch(desk.sven, page.parent_page_id, watched=True)
    first = actions.add_comment(desk.rene, page.pk, words="@wanda and @otto: see zita@example.com, @olga@example.com.")
    assert notified() == {("wanda", "commented"), ("olga", "commented"), ("sven", "commented")}
    Delivery.objects.all().delete()
    actions.reply_to(desk.wanda, first.thread_id, words="Done.")
    assert notified() == {("rene", "commented"), ("sven", "commented")}
    assert StreamEntry.objects.filter(source="library", kind="commented", object_id=str(page.pk)).count() == 2


def test_watchers_are_notified_of_a_change_once_a_day_and_only_while_they_can_read(desk, page):
    for person in (desk.rene, desk.wanda):
        actions.set_watch(person, page.pk, watched=True)
    for version, words in ((1, "a"), (2, "b")):
        actions.save_page(desk.wanda, page.pk, version=version, content=f"<p>{words}</p>")
    assert [(one.channel.user_id, one.kind) for one in Delivery.objects.all()] == [(desk.rene.pk, "saved")]
    assert "Tides" in Delivery.objects.get().subject
    Delivery.objects.all().delete()
    actions.remove_space_member(desk.olga, desk.space.pk, person=desk.rene)
    actions.add_comment(desk.wanda, page.pk, words="x")
    assert notified() == set()


def test_mention_in_the_text_notifies_once(desk, page):
    named = f'<p>Ask <a data-person="{desk.zita.pk}">@zita</a> and <a data-person="{desk.xaver.pk}">@xaver</a>.</p>'
    actions.save_page(desk.wanda, page.pk, version=1, content=named)
    actions.save_page(desk.wanda, page.pk, version=2, content=named + "<p>More</p>")
    assert notified() == {("zita", "mentioned")}
    assert Delivery.objects.count() == 1


def test_who_is_here_is_seen_for_a_minute(desk, page, later):
    assert actions.be_here(desk.wanda, page.pk) == []
    assert actions.be_here(desk.rene, page.pk) == [desk.wanda]
    answer = client_of(desk.zita).post(url("here", page.pk))
    assert "wanda@example.com" in answer.text
    later(seconds=70)
    assert actions.be_here(desk.wanda, page.pk) == []
    later(hours=2)
    actions.be_here(desk.sven, page.pk)
    assert Presence.objects.count() == 1
    with pytest.raises(NotFound):
        actions.be_here(desk.xaver, page.pk)


def test_suggested_edit_is_merged_when_it_is_accepted(desk, page):
    content = "<p>High at six, low at one.</p>"
    made = actions.suggest_edit(desk.rene, page.pk, version=1, title="Tides", content=content)
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>Always high at six, low at noon.</p>")
    with pytest.raises(NotAllowed):
        actions.accept_suggestion(desk.zita, made.pk)
    saved = actions.accept_suggestion(desk.wanda, made.pk)
    assert saved.content == "<p>Always high at six, low at one.</p>"
    assert ("rene", "accepted") in notified()
    with pytest.raises(Conflict):
        actions.reject_suggestion(desk.sven, made.pk)


def test_suggestion_that_needs_a_choice_stays_open(desk, page):
    made = actions.suggest_edit(
        desk.rene, page.pk, version=1, title="Tides", content="<p>High at nine, low at noon.</p>"
    )
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>High at ten, low at noon.</p>")
    with pytest.raises(VersionConflict):
        actions.accept_suggestion(desk.wanda, made.pk)
    assert Suggestion.objects.get(pk=made.pk).state == "open"
    actions.suggest_edit(desk.rene, page.pk, version=2, title="Tides", content="<p>x</p>")
    assert [one.content for one in actions.list_suggestions(desk.wanda, page.pk)] == ["<p>x</p>"]
    actions.reject_suggestion(desk.wanda, actions.list_suggestions(desk.wanda, page.pk).get().pk)
    assert ("rene", "rejected") in notified()


def test_pages_show_comments_and_suggestions(desk, page):
    client = client_of(desk.rene)
    answer = client.post(url("comments", page.pk), {"text": "Where from? <b>x</b>", "quote": "at six"}, **HTMX)
    assert "Where from? &lt;b&gt;x&lt;/b&gt;" in answer.text
    assert 'data-quote="at six"' in answer.text
    thread = CommentThread.objects.get()
    assert "One more" in client_of(desk.wanda).post(url("reply", thread.pk), {"text": "One more"}, **HTMX).text
    assert client.post(url("reply", thread.pk), {"text": "x"}).status_code == 302
    client.post(url("suggest", page.pk), {"version": 1, "title": "Tide times", "markdown": "High at seven.\n"})
    shown = client_of(desk.wanda).get(url("suggestions", page.pk)).text
    assert "Tide times" in shown
    assert "seven" in shown
    assert "1 suggested edit" in client_of(desk.wanda).get(url("page", page.pk)).text
    suggestion = Suggestion.objects.get()
    client_of(desk.wanda).post(url("decide", suggestion.pk), {"accept": "1"})
    assert Page.objects.get(pk=page.pk).title == "Tide times"


def test_purged_page_takes_its_comments_along(desk, page):
    actions.add_comment(desk.rene, page.pk, words="zanzibar")
    actions.set_watch(desk.rene, page.pk, watched=True)
    actions.be_here(desk.rene, page.pk)
    actions.suggest_edit(desk.rene, page.pk, version=1, title="T", content="<p>zanzibar</p>")
    actions.trash_page(desk.wanda, page.pk)
    with pytest.raises(NotFound):
        actions.list_threads(desk.rene, page.pk)
    actions.purge_page(desk.sven, page.pk)
    run_now("library.empty_trash")
    assert not CommentThread.objects.exists()
    assert not Suggestion.objects.exists()
    assert not Delivery.objects.filter(text__contains="zanzibar").exists()
