"""A new kind of channel is one file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions, channels, outbox
from watchbook.core.notify.models import NotificationChannel, State

pytestmark = pytest.mark.django_db

PAGER = """
from django import forms
from watchbook.core.notify.channels import BadConfig, ChannelForm, ChannelKind, only, text_of
from watchbook.core.notify.message import sent

SENT = []

class PagerForm(ChannelForm):
    number = forms.CharField(label="Number")

    def given(self):
        return {"number": self.cleaned_data["number"]}

class Pager(ChannelKind):
    name, label, icon, lead, content = "pager", "Pager", "bell", "To a pager.", ()
    form = PagerForm

    def check(self, given, known):
        only(given, "number")
        if not text_of(given, known, "number").isdigit():
            raise BadConfig("number", "Enter digits.")
        return {"number": text_of(given, known, "number")}

    def masked(self, config):
        return dict(config)

    def send(self, channel, config, message):
        SENT.append((config["number"], message.subject))
        return sent()

KIND = Pager()
"""


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    (tmp_path / "pager.py").write_text(PAGER, "utf-8")
    monkeypatch.setattr(channels, "__path__", [*channels.__path__, str(tmp_path)])
    channels.kinds.cache_clear()
    kind = channels.kind_of("pager")
    assert kind is not None
    yield sys.modules[type(kind).__module__].SENT
    channels.kinds.cache_clear()
    del sys.modules[type(kind).__module__]


def test_one_file_adds_a_kind_to_pages_api_and_outbox(alice: User, pager, notification) -> None:
    browser = client_of(alice)
    assert "To a pager." in browser.get("/channels/add/").text
    fields = {"name": "On call", "number": "none", "digest": "immediate", "is_active": "on"}
    assert "Enter digits." in browser.post("/channels/add/pager/", fields).text
    browser.post("/channels/add/pager/", fields | {"number": "4711"})
    channel = NotificationChannel.objects.of(alice).get()
    assert browser.get("/api/v1/channels").json()["items"][0]["config"] == {"number": "4711"}
    (delivery,) = outbox.notify([channel], notification(subject="Three new pages"))
    outbox.deliver_due()
    delivery.refresh_from_db()
    assert (delivery.state, pager) == (State.SENT, [("4711", "Three new pages")])


def test_unknown_type_is_refused_by_the_model(alice: User) -> None:
    with pytest.raises(ValueError, match="pigeon"):
        NotificationChannel.objects.create(user=alice, name="x", channel_type="pigeon")


def test_channel_whose_kind_was_uninstalled_fails_with_a_reason(alice: User, pager) -> None:
    channel = actions.create(alice, name="On call", channel_type="pager", given={"number": "1"}).channel
    NotificationChannel.objects.filter(pk=channel.pk).update(channel_type="gone")
    channel.refresh_from_db()
    delivery = actions.send_test(channel)
    assert (delivery.state, delivery.last_error) == (State.FAILED, "This type of channel is not installed.")
    assert client_of(alice).get(f"/channels/{channel.pk}/").status_code == 200
