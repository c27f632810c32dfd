"""Users are notified of new and edited posts of a topic or an author, once, through their own channels and rules."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.people import alice, bob, client_of
from watchbook.core.accounts.models import User
from watchbook.core.jobs import runner
from watchbook.core.notify.models import Delivery, NotificationChannel
from watchbook.core.notify.rules import subject_of
from watchbook.systems.nga import actions
from watchbook.systems.nga.jobs import follow
from watchbook.systems.nga.models import Subscription, SubscriptionNews
from watchbook.systems.nga.tests.archive import floors_of, thread_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["alice", "bob"]


def channel_of(user: User, name: str = "Post") -> NotificationChannel:
    return NotificationChannel.objects.create(user=user, name=name, channel_type="email")


@pytest.fixture
def tid(board, crawler):
    made = board.world.add_topic("[攻略]灯塔", author="楼主甲")
    board.world.reply(made, "第一条", author="路人乙")
    crawler.crawl()
    board.world.advance(hours=1)
    return made


def subscribe(board, user, **values):
    with clock.set_to(board.world.moment):
        return actions.subscribe(user, **values)


def sent():
    return [(one.kind, one.subject, one.text) for one in Delivery.objects.order_by("pk")]


def test_new_posts_of_a_topic_are_notified_once(board, crawler, tid, alice):
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    board.world.reply(tid, "第二条", author="路人丙")
    board.world.reply(tid, "第三条", author="楼主甲")
    crawler.crawl(after=1)
    crawler.read(tid)
    assert sent() == [("new_posts", "[攻略]灯塔: 2 new posts", "#2 路人丙: 第二条\n#3 楼主甲: 第三条")]
    assert Delivery.objects.get().reference == Subscription.objects.get().rule_thread


def test_five_pages_of_one_crawl_are_one_notification(board, crawler, tid, alice):
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    for number in range(95):
        board.world.reply(tid, f"第 {number} 条", author="路人丙")
    crawler.crawl(after=1)
    [(kind, subject, text)] = sent()
    assert (kind, subject) == ("new_posts", f"[攻略]灯塔: {len(floors_of(tid)) - 2} new posts")
    assert text.startswith("#2 ")
    assert len(Delivery.objects.get().payload["posts"]) == 95
    assert not SubscriptionNews.objects.exists()


def test_posts_of_a_killed_crawl_are_notified_by_the_next_check(board, crawler, tid, alice, monkeypatch):
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    board.world.reply(tid, "第二条", author="路人丙")
    # The process ends after the page was stored and before the topic was finished.
    monkeypatch.setattr("watchbook.systems.nga.store.runs.send_news", lambda _thread: None)
    crawler.crawl(after=1)
    monkeypatch.undo()
    assert (sent(), SubscriptionNews.objects.count()) == ([], 1)
    with clock.set_to(board.world.moment + timedelta(minutes=5)):
        assert not follow.anything_due(clock.now()), "the crawl may still run"
    with clock.set_to(board.world.moment + timedelta(hours=1)):
        assert follow.anything_due(clock.now())
        runner.run_now("nga.follow")
        runner.run_now("nga.follow")
    assert sent() == [("new_posts", "[攻略]灯塔: 1 new post", "#2 路人丙: 第二条")]


def test_edit_found_on_an_old_page_is_notified(board, crawler, tid, alice):
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    board.world.edit(tid, floors_of(tid)[1].source_post_id, "改过的第一条")
    board.world.advance(days=4)
    with clock.set_to(board.world.moment):
        runner.run_now("nga.reread")
    assert sent() == [("edited", "[攻略]灯塔: 1 post edited", "#1 路人乙: 改过的第一条")]


def test_followed_topic_notifies_beyond_the_window(board, crawler, tid, alice):
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    with clock.set_to(board.world.moment):
        actions.follow(thread_of(tid))
    board.world.advance(days=5)
    board.world.reply(tid, "五天以后")
    with clock.set_to(board.world.moment):
        runner.run_now("nga.follow")
    assert [kind for kind, _subject, _text in sent()] == ["new_posts"]


def test_only_the_author_of_the_topic(board, crawler, tid, alice):
    chosen = {"is_starter_only": True, "channel_ids": [channel_of(alice).pk]}
    subscribe(board, alice, thread=thread_of(tid), **chosen)
    board.world.reply(tid, "别人", author="路人丙")
    board.world.reply(tid, "楼主补充", author="楼主甲")
    crawler.crawl(after=1)
    assert [text for _kind, _subject, text in sent()] == ["#3 楼主甲: 楼主补充"]


def test_author_is_notified_in_every_archived_topic_and_only_after_the_choice(board, crawler, tid, alice):
    uid = board.world.uid_of("路人乙")
    subscribe(board, alice, author=(uid, "路人乙"), channel_ids=[channel_of(alice).pk])
    other = board.world.add_topic("[讨论]别处", author="楼主丁")
    board.world.reply(other, "别处的话", author="路人乙")
    board.world.reply(other, "无关", author="路人戊")
    crawler.crawl(after=1)
    assert sent() == [("new_posts", "[讨论]别处: 1 new post", "#1 路人乙: 别处的话")]


def test_posts_older_than_the_choice_are_not_notified(board, crawler, alice):
    tid = board.world.add_topic("[攻略]长帖")
    board.world.fill(tid, 130)
    crawler.crawl()
    board.world.advance(hours=1)
    subscribe(board, alice, thread=thread_of(tid), channel_ids=[channel_of(alice).pk])
    crawler.crawl(after=1)  # the backfill goes on
    assert len(floors_of(tid)) == 131
    assert sent() == []


def test_nothing_chosen_and_channels_of_others_are_refused(board, crawler, tid, alice, bob):
    client, url = client_of(alice), f"/api/v1/nga/threads/{tid}/subscription"
    wrong = client.put(url, {"channel_ids": [str(channel_of(bob).pk)]}, content_type="application/json")
    assert (wrong.status_code, "channel_ids" in wrong.text) == (422, True)
    nothing = {"notifies_posts": False, "notifies_edits": False}
    assert client.put(url, nothing, content_type="application/json").status_code == 422
    assert not Subscription.objects.exists()


def test_api_sets_lists_and_ends_only_own_choices(board, crawler, tid, alice, bob):
    client, url = client_of(alice), f"/api/v1/nga/threads/{tid}"
    uid, channel = board.world.uid_of("路人乙"), channel_of(alice)
    given = {"channel_ids": [str(channel.pk)], "notifies_edits": False}
    assert client.put(f"{url}/subscription", given, content_type="application/json").json()["tid"] == tid
    author = client.put(f"{url}/authors/{uid}/subscription", given, content_type="application/json").json()
    assert (author["title"], author["tid"]) == ("路人乙", None)
    assert client.put(f"{url}/authors/5/subscription", given, content_type="application/json").status_code == 404
    assert len(client.get("/api/v1/nga/subscriptions").json()["items"]) == 2
    assert client_of(bob).get("/api/v1/nga/subscriptions").json()["items"] == []
    assert client_of(bob).delete(f"{url}/subscription").status_code == 404
    assert client.delete(f"{url}/subscription").status_code == 204
    assert client.delete(f"{url}/authors/{uid}/subscription").status_code == 204
    assert not Subscription.objects.exists()


def test_page_sets_changes_and_ends_a_choice(board, crawler, tid, alice, bob):
    client, url, channel = client_of(alice), reverse("nga:notify_topic", args=[tid]), channel_of(alice)
    assert "Notify" in client.get(reverse("nga:topic", args=[tid])).text
    assert "Only posts of the topic" in client.get(url).text
    assert client.post(url, {"notifies_posts": "on"}).status_code == 422  # without a channel
    assert client.post(url, {"notifies_posts": "on", "channels": [channel.pk]}).status_code == 302
    chosen = Subscription.objects.get()
    assert (chosen.notifies_posts, chosen.notifies_edits) == (True, False)
    assert subject_of(chosen.rule_thread, alice) is not None
    assert subject_of(chosen.rule_thread, bob) is None
    assert client.get(reverse("notification_rule", args=[chosen.rule_thread])).status_code == 200
    assert client.post(url, {"end": "1"}).status_code == 302
    assert not Subscription.objects.exists()
    author = reverse("nga:notify_author", args=[tid, board.world.uid_of("路人乙")])
    assert "路人乙" in client.get(author).text
    assert client.get(reverse("nga:notify_author", args=[tid, 5])).status_code == 404
