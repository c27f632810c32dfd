"""What may be typed as a configuration, what is kept and what is shown."""

from __future__ import annotations

import pytest

from watchbook.core.notify import actions, channels
from watchbook.core.notify.channels import BadConfig, Unreadable
from watchbook.core.notify.channels.webhook import key_of
from watchbook.core.notify.models import NotificationChannel

from .conftest import SECRET

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/services/T0P/S3CRET?token=abc"


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("url", {"url": "ftp://example.com/"}),
        ("url", {"url": "https://user:pass@example.com/"}),
        ("url", {"url": "http://127.0.0.1/"}),
        ("url", {"url": ""}),
        ("url", {"url": 7}),
        ("method", {"url": URL, "method": "GET"}),
        ("method", {"url": URL, "method": "POST /x HTTP/1.1\r\nX: y"}),
        ("headers", {"url": URL, "headers": {"X": "a\r\nHost: inside"}}),
        ("headers", {"url": URL, "headers": {"Host": "inside"}}),
        ("headers", {"url": URL, "headers": {"content-length": "0"}}),
        ("headers", {"url": URL, "headers": {"Transfer-Encoding": "chunked"}}),
        ("headers", {"url": URL, "headers": {"Webhook-Signature": "v1,x"}}),
        ("headers", {"url": URL, "headers": {"X Y": "a"}}),
        ("headers", {"url": URL, "headers": {"X": "naïve"}}),
        ("headers", {"url": URL, "headers": ["X: y"]}),
        ("headers", {"url": URL, "headers": {f"X-{n}": "y" for n in range(21)}}),
        ("secret", {"url": URL, "secret": "hunter2"}),
        ("secret", {"url": URL, "secret": "whsec_c2hvcnQ="}),
        ("config", {"url": URL, "user_id": "1"}),
    ],
)
def test_bad_webhooks_are_refused_by_field(field, given):
    with pytest.raises(BadConfig) as caught:
        channels.check("webhook", given)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "address",
    ["", "a", "a@b", "a@example.com\nBcc: b@example.com", "a@example.com,b@example.com", "A <a@example.com>",
     "é@example.com", "a@" + "x" * 300 + ".example", "a@exa mple.com", None],
)  # fmt: skip
def test_bad_addresses_are_refused(address):
    with pytest.raises(BadConfig):
        channels.check("email", {"email": address})


def test_host_name_in_another_script_travels_in_its_ascii_form():
    assert channels.check("email", {"email": "a@bücher.example"}) == {"email": "a@xn--bcher-kva.example"}


def test_name_is_one_line(alice):
    given = {"email": "alice@example.com"}
    saved = actions.create(alice, name=" Desk\r\nBcc: x@example.com\x00 ", channel_type="email", given=given)
    assert saved.channel.name == "Desk Bcc: x@example.com"


def test_secret_is_made_when_none_is_given_and_shown_once(alice):
    saved = actions.create(alice, name="x", channel_type="webhook", given={"url": URL})
    assert len(key_of(saved.secret)) == 32
    assert channels.read(saved.channel)["secrets"] == [saved.secret]
    given = actions.create(alice, name="y", channel_type="webhook", given={"url": URL, "secret": SECRET})
    assert given.secret == ""


def test_row_shows_host_method_and_header_names_only(alice):
    given = {"url": URL, "method": "put", "headers": {"Authorization": "Bearer xyzzy-123"}}
    channel = actions.create(alice, name="x", channel_type="webhook", given=given).channel
    channel.refresh_from_db()
    assert channel.config == {
        "url": f"https://hooks.example.com/{channels.MASK}",
        "method": "PUT",
        "headers": {"Authorization": channels.MASK},
        "secret": channels.MASK,
    }
    assert channel.secret.startswith("v2:")
    assert "T0P" not in channel.secret


def test_sending_the_masked_form_back_keeps_the_secrets(alice):
    given = {"url": URL, "headers": {"Authorization": "Bearer xyzzy", "X-Room": "1"}, "secret": SECRET}
    channel = actions.create(alice, name="x", channel_type="webhook", given=given).channel
    before = channels.read(channel)
    shown = {**channel.config, "method": "PATCH", "headers": {"authorization": channels.MASK, "X-Room": "2"}}
    actions.update(channel, given=shown)
    after = channels.read(NotificationChannel.objects.get(pk=channel.pk))
    assert after["url"] == before["url"]
    assert after["secrets"] == before["secrets"]
    assert after["method"] == "PATCH"
    assert after["headers"] == {"authorization": "Bearer xyzzy", "X-Room": "2"}


def test_encrypted_value_moved_to_another_row_is_not_decrypted(alice):
    one = actions.create(alice, name="a", channel_type="webhook", given={"url": URL}).channel
    two = actions.create(alice, name="b", channel_type="webhook", given={"url": URL}).channel
    NotificationChannel.objects.filter(pk=two.pk).update(secret=one.secret)
    two.refresh_from_db()
    with pytest.raises(Unreadable):
        channels.read(two)
    result = channels.send(two, None)  # type: ignore[arg-type]
    assert (result.ok, result.code) == (False, "not_decrypted")


def test_lost_key_is_repaired_by_entering_the_secrets_again(alice, settings):
    channel = actions.create(alice, name="a", channel_type="webhook", given={"url": URL}).channel
    settings.SECRETS_KEYS = {"k2": "another master key of more than thirty-two characters"}
    with pytest.raises(BadConfig):
        actions.update(channel, given={"method": "PUT"})
    channel.refresh_from_db()
    assert channel.secret.startswith("v2:k1:"), "what cannot be opened is left as it is"
    actions.update(channel, given={"url": URL})
    assert channels.read(channel)["url"] == URL


def test_what_is_kept_inside_cannot_be_set_from_outside():
    with pytest.raises(BadConfig):
        channels.check("webhook", {"url": URL, "secrets": ["x"]})
    with pytest.raises(BadConfig):
        channels.check("webhook", {"url": URL, "old_until": "2099-01-01"})


def test_new_secret_of_ones_own_is_used_beside_the_former_one(alice):
    saved = actions.create(alice, name="x", channel_type="webhook", given={"url": URL})
    actions.update(saved.channel, given={"secret": SECRET})
    assert channels.read(saved.channel)["secrets"] == [SECRET, saved.secret]
    actions.update(saved.channel, given={"method": "PUT"})
    assert channels.read(saved.channel)["secrets"] == [SECRET, saved.secret]


def test_saving_keeps_what_the_sender_counted_in_between(alice):
    channel = actions.create(alice, name="x", channel_type="webhook", given={"url": URL}).channel
    NotificationChannel.objects.update(last_sequence=7, failure_count=3)
    actions.update(channel, name="y")
    channel.refresh_from_db()
    assert (channel.name, channel.last_sequence, channel.failure_count) == ("y", 7, 3)


@pytest.mark.parametrize("mark", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "%00", "%0a", "%7F"])
@pytest.mark.parametrize("place", ["https://example.com/a{}b", "https://example.com/a{}", "https://exa{}mple.com/"])
def test_webhook_address_with_control_character_is_refused(mark, place):
    with pytest.raises(BadConfig):
        channels.check("webhook", {"url": place.format(mark)})
