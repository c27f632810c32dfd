"""Chat services: each against a stand-in that checks requests and responds in the service's own format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from standins.chat_services import NTFY_TOKEN, TELEGRAM_TOKEN, ChatServices
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core.notify import actions, outbox
from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.chat import short_subject
from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.kit.letter import Item, Letter, Link, Piece, Section

pytestmark = pytest.mark.django_db

EVIL = "<b>@everyone</b> <!channel> *x* & [a](b)"
DINGTALK_SECRET = "SEC" + "d" * 61


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServices]:
    with ChatServices() as services:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", services.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        services.secrets = {"feishu": "feishu-secret", "dingtalk": DINGTALK_SECRET}
        yield services


def good(chat: ChatServices, kind: str) -> dict[str, str]:
    return {
        "slack": {"url": chat.address("/services/T1/B1/good")},
        "telegram": {"token": TELEGRAM_TOKEN, "chat_id": "-42", "server": chat.url},
        "ntfy": {"topic": "harbour", "server": chat.url, "token": NTFY_TOKEN},
        "discord": {"url": chat.address("/api/webhooks/77/good")},
        "feishu": {"url": chat.address("/open-apis/bot/v2/hook/good"), "secret": "feishu-secret"},
        "wecom": {"url": chat.address("/cgi-bin/webhook/send?key=good")},
        "dingtalk": {"url": chat.address("/robot/send?access_token=good"), "secret": DINGTALK_SECRET},
    }[kind]


# What is wrong, and what the service says to it.
REFUSED = {
    "slack": ({"url": "/services/T1/B1/bad"}, "Slack: no_service"),
    "telegram": ({"token": "123456789:" + "B" * 35}, "Telegram: Unauthorized"),
    "ntfy": ({"topic": "private"}, "ntfy: forbidden"),
    "discord": ({"url": "/api/webhooks/77/bad"}, "Discord: Unknown Webhook"),
    "feishu": ({"secret": "another-secret"}, "Feishu: sign match fail or timestamp is not within one hour"),
    "wecom": ({"url": "/cgi-bin/webhook/send?key=bad"}, "WeCom: invalid webhook url"),
    "dingtalk": ({"secret": "SEC" + "e" * 61}, "DingTalk: sign not match"),
}
KINDS = tuple(REFUSED)


def make(alice, kind: str, given: dict[str, str]) -> NotificationChannel:
    return actions.create(alice, name=kind, channel_type=kind, given=given).channel


@pytest.mark.parametrize("kind", KINDS)
def test_form_saves_test_is_accepted_and_its_response_is_shown(alice, chat, kind):
    browser = client_of(alice)
    assert f'href="/channels/add/{kind}/"' in browser.get("/channels/add/").text
    page = browser.get(f"/channels/add/{kind}/").text
    assert "Where to find these values" in page
    fields = {"name": "Team", "digest": "immediate", "is_active": "on", **good(chat, kind)}
    assert browser.post(f"/channels/add/{kind}/", fields).status_code == 302
    channel = NotificationChannel.objects.of(alice).get()
    browser.post(f"/channels/{channel.pk}/test/")
    (message,) = chat.messages[kind]
    assert "Test from Watchbook" in json.dumps(message)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.last_status) == (State.SENT, 200)
    shown = squeezed(browser.get(f"/channels/{channel.pk}/").text)
    assert "Response of the service:" in shown
    for secret in (value for name, value in good(chat, kind).items() if name not in ("chat_id", "server")):
        assert secret not in shown
        assert secret not in json.dumps(channel.config)


@pytest.mark.parametrize("kind", KINDS)
def test_refused_message_is_not_sent_and_the_words_of_the_service_are_shown(alice, chat, kind):
    wrong, said = REFUSED[kind]
    chat.protected_topics = {"private"}
    given = good(chat, kind) | {name: chat.address(value) if name == "url" else value for name, value in wrong.items()}
    given.pop("token") if kind == "ntfy" else None
    delivery = actions.send_test(make(alice, kind, given))
    assert (delivery.state, delivery.last_error) == (State.FAILED, said)
    assert chat.messages[kind] == []
    browser = client_of(alice)
    assert said in browser.post(f"/channels/{delivery.channel_id}/test/", follow=True).text


@pytest.mark.parametrize("kind", KINDS)
def test_success_page_of_another_server_does_not_count_as_sent(alice, chat, kind):
    chat.faults.on().answer(200, "<html>Sign in to the network</html>")
    delivery = actions.send_test(make(alice, kind, good(chat, kind)))
    assert delivery.state == State.FAILED
    assert "The response is not one of this service." in delivery.last_error


@pytest.mark.parametrize("kind", KINDS)
def test_long_text_fits_and_markup_in_it_has_no_effect(alice, chat, kind, notification):
    channel = make(alice, kind, good(chat, kind))
    lines = [f"{number} 渡轮 {EVIL}" for number in range(400)]
    outbox.notify([channel], notification(subject=EVIL, text="\n".join(lines), link="/sitemaps/changes/1/"))
    outbox.deliver_due()
    (message,) = chat.messages[kind]
    text = json.dumps(message, ensure_ascii=False)
    assert "more" in text
    assert "/sitemaps/changes/1/" in text
    if kind in ("slack", "telegram"):
        assert "<b>@everyone" not in text
        assert "<!channel>" not in text
    if kind == "discord":
        assert message["allowed_mentions"] == {"parse": []}


def test_rate_limit_of_telegram_is_kept(alice, chat, notification, noon):
    body = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 90}}
    chat.faults.on(first=1).answer(429, json.dumps(body))
    channel = make(alice, "telegram", good(chat, "telegram"))
    outbox.notify([channel], notification())
    outbox.deliver_due(noon)
    delivery = Delivery.objects.get()
    assert (delivery.state, (delivery.next_at - noon).total_seconds()) == (State.PENDING, 90)


def test_editing_with_empty_secrets_keeps_them(alice, chat):
    channel = make(alice, "telegram", good(chat, "telegram"))
    fields = {"name": "Team", "digest": "daily", "token": "", "chat_id": "-43", "server": chat.url, "is_active": "on"}
    browser = client_of(alice)
    page = browser.get(f"/channels/{channel.pk}/edit/").text
    assert TELEGRAM_TOKEN not in page
    browser.post(f"/channels/{channel.pk}/edit/", fields)
    channel.refresh_from_db()
    assert actions.send_test(channel).state == State.SENT
    assert chat.messages["telegram"][0]["chat_id"] == "-43"


@pytest.mark.parametrize(
    ("kind", "given", "field"),
    [
        ("slack", {"url": "https://example.com/services/T1/B1/x"}, "url"),
        ("slack", {"url": "http://127.0.0.1:9/services/x"}, "url"),
        ("slack", {}, "url"),
        ("telegram", {"token": "no-token", "chat_id": "1"}, "token"),
        ("telegram", {"token": TELEGRAM_TOKEN, "chat_id": "a chat"}, "chat_id"),
        ("telegram", {"token": TELEGRAM_TOKEN, "chat_id": "1", "server": "http://10.0.0.1"}, "server"),
        ("ntfy", {"topic": "a/b"}, "topic"),
        ("wecom", {"url": "https://qyapi.weixin.qq.com.example.com/cgi-bin/webhook/send?key=x"}, "url"),
        ("discord", {"url": "https://discord.com/api/webhooks/1/x", "colour": "red"}, "config"),
    ],
)
def test_wrong_values_are_refused_by_field(alice, kind: str, given: dict[str, Any], field: str):
    with pytest.raises(BadConfig) as refused:
        make(alice, kind, given)
    assert refused.value.field == field


def change() -> Letter:
    pages = tuple(Item(f"Page {n} {EVIL}", f"https://ferry.example.com/news/{n}(1)|x", sign="+") for n in range(7))
    removed = Item("Summer day pass", "https://ferry.example.com/summer", sign="−")
    return Letter(
        "Example Ferry: 7 new pages, 1 removed",
        name="Example Ferry",
        button=Link("See the difference", "/sitemaps/changes/1/"),
        sections=(Section("News", items=(*pages[:3], removed, *pages[3:]), more=90),),
    )


def match() -> Letter:
    pieces = (Piece("the "), Piece("timetable", True), Piece(" will change <b>"))
    found = Item(
        "Night crossings",
        "https://www.reddit.com/r/ferries/comments/1abc",
        here="/reddit/posts/1abc/",
        note="r/ferries · u/harbour_walks",
        excerpt=pieces,
    )
    return Letter("2 new matches", sections=(Section(items=(found,)),))


LINKED = {
    "slack": "+ <https://ferry.example.com/news/0(1)%7Cx|Page 0 ",
    "telegram": '+ <a href="https://ferry.example.com/news/0(1)|x">Page 0 ',
    "discord": "+ [Page 0 ",
    "feishu": "+ [Page 0 ",
}
STRUCK = {"slack": "~Summer day pass~", "telegram": "<s>Summer day pass</s>", "discord": "~~Summer day pass~~"}
MATCH = {
    "slack": "“the *timetable* will change &lt;b&gt;” · <http://127.0.0.1:8000/reddit/posts/1abc/|Watchbook>",
    "telegram": "“the <b>timetable</b> will change &lt;b&gt;” · "
    '<a href="http://127.0.0.1:8000/reddit/posts/1abc/">Watchbook</a>',
    "wecom": "“the timetable will change <b>” · Watchbook http://127.0.0.1:8000/reddit/posts/1abc/",
}


def text_of(message: dict[str, Any]) -> str:
    """The text as a reader of the service's own JSON sees it."""
    card = message.get("card", {}).get("elements", [{}])[0].get("text", {}).get("content")
    inner = message.get("text") if isinstance(message.get("text"), str) else (message.get("text") or {}).get("content")
    return str(card or inner or message.get("content") or message.get("message"))


@pytest.mark.parametrize("kind", KINDS)
def test_change_lists_titles_with_links_and_how_many_more(alice, chat, kind, notification):
    outbox.notify([make(alice, kind, good(chat, kind))], notification(letter=change()))
    outbox.deliver_due()
    (message,) = chat.messages[kind]
    text = text_of(message)
    assert LINKED.get(kind, "+ Page 0 ") in text
    assert STRUCK.get(kind, "− Summer day pass" if kind != "feishu" else "~~Summer day pass~~") in text
    assert "and 93 more" in text
    assert "<!channel>" not in text or kind in ("wecom", "dingtalk", "ntfy"), "those show text as it is"
    if kind in ("slack", "telegram", "feishu"):
        assert "See the difference" in json.dumps(message)


@pytest.mark.parametrize("kind", KINDS)
def test_match_has_place_author_excerpt_and_both_links(alice, chat, kind, notification):
    outbox.notify([make(alice, kind, good(chat, kind))], notification(letter=match()))
    outbox.deliver_due()
    text = text_of(chat.messages[kind][0])
    assert "r/ferries · u/harbour" in text.replace("\\", "").replace("&#95;", "_")
    assert MATCH.get(kind, "timetable") in text
    if kind != "ntfy":  # push shows no addresses: a tap opens the notification
        assert "https://www.reddit.com/r/ferries/comments/1abc" in text
        assert "/reddit/posts/1abc/" in text


def test_long_name_is_cut_before_the_event():
    subject = "Example Ferry and Harbour Company of the Western Islands and the Coast: 6 new pages, 1 removed"
    short = short_subject(subject)
    assert len(short) == 80
    assert short.endswith("…: 6 new pages, 1 removed")


def update(number: int, kind: str = "message", **chat: Any) -> dict[str, Any]:
    return {"update_id": number, kind: {"message_id": number, "date": 1_790_000_000 + number, "chat": chat}}


LIA = {"id": 42, "type": "private", "first_name": "Lia", "last_name": "Wen"}


def test_telegram_lists_the_chats_of_the_bot_and_the_chosen_one_gets_the_test(alice, chat):
    group = {"id": -1007, "type": "supergroup", "title": "Harbour <b>team</b>"}
    chat.updates = [update(1, **LIA), update(2, "my_chat_member", **group), update(3, **LIA), {"poll": {}}, 7]
    browser = client_of(alice)
    typed = {"token": TELEGRAM_TOKEN, "server": chat.url, "name": "Team", "digest": "hourly", "chat_id": ""}
    page = squeezed(browser.post("/channels/add/telegram/", {**typed, "then": "list"}).text)
    assert 'value="42" id="id_chat_id" checked' in page
    assert "Lia Wen" in page
    assert "Private chat" in page
    assert 'value="-1007"' in page
    assert "Harbour &lt;b&gt;team&lt;/b&gt;" in page
    assert '<option value="hourly" selected' in page
    assert not NotificationChannel.objects.exists()
    assert [came.path.rpartition("/")[2] for came in chat.log.all()] == ["getUpdates"]
    browser.post("/channels/add/telegram/", {**typed, "chat_id": "-1007", "then": "test"})
    assert [sent["chat_id"] for sent in chat.messages["telegram"]] == ["-1007"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "No chats found. Send a message to the bot, then try again."),
        ({"token": ""}, "Enter a value."),
        ({"token": "123456789:" + "B" * 35}, "Telegram: Unauthorized"),
        ({"server": "http://10.0.0.1/"}, "private"),
    ],
)
def test_chats_that_cannot_be_listed_have_a_reason_beside_the_field(alice, chat, typed, said):
    given = {"token": TELEGRAM_TOKEN, "server": chat.url, "chat_id": "5", "then": "list", **typed}
    page = squeezed(client_of(alice).post("/channels/add/telegram/", given).text)
    assert said in page
    assert 'name="chat_id" value="5"' in page
    assert "Not saved" not in page


def test_saved_token_lists_the_chats_without_being_typed_or_shown(alice, chat):
    chat.updates = [update(1, **LIA)]
    channel = make(alice, "telegram", good(chat, "telegram"))
    page = (
        client_of(alice).post(f"/channels/{channel.pk}/edit/", {"token": "", "server": chat.url, "then": "list"}).text
    )
    assert "Lia Wen" in page
    assert TELEGRAM_TOKEN not in page


def test_lists_of_chats_are_limited_per_user(alice, chat, monkeypatch):
    monkeypatch.setattr(actions, "LISTS", 1)
    given = {"token": TELEGRAM_TOKEN, "server": chat.url, "then": "list"}
    browser = client_of(alice)
    assert "Too many requests." not in browser.post("/channels/add/telegram/", given).text
    assert "Too many requests." in browser.post("/channels/add/telegram/", given).text
