"""Mails over a real line: what is in them, what the server may answer, and how they are stopped."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.html import format_html

from watchbook.base import clock
from watchbook.base.testing import people
from watchbook.core.notify import actions, outbox
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db


def row(event_id: str = "change:1") -> Delivery:
    return Delivery.objects.get(event_id=event_id)


def test_mail_has_text_html_and_headers_that_stay_the_same(mailbox, mails, notification, noon):
    mails.on("alice@example.com", nth=1).refuse(450)
    outbox.notify([mailbox], notification(thread="monitor:7"))
    outbox.deliver_due(noon)
    assert (row().state, row().error_code, row().last_status) == ("pending", "mail_later", 450)
    outbox.deliver_due(noon + timedelta(seconds=7))
    assert row().state == "sent"

    (mail,) = mails.messages()
    assert mail.subject == "3 pages added"
    assert "Three new pages." in mail.text
    assert "<p>Three new pages.</p>" in mail.html
    assert "http://127.0.0.1:8000/sitemaps/changes/1/" in mail.links()
    assert mail.message_id == f"<{_id(row())}@127.0.0.1>"
    assert mail.header("References").endswith(".thread@127.0.0.1>")
    assert mail.header("List-Unsubscribe-Post") == "List-Unsubscribe=One-Click"
    assert mail.header("Auto-Submitted") == "auto-generated"


def _id(delivery: Delivery) -> str:
    from watchbook.core.notify.message import message_id

    return message_id(delivery.event_id, delivery.channel_id)


def test_mails_of_one_thread_refer_to_the_same_root(mailbox, mails, notification):
    for event in ("change:1", "change:2"):
        outbox.notify([mailbox], notification(event, thread="monitor:7"))
    outbox.notify([mailbox], notification("change:3", thread="monitor:8"))
    outbox.deliver_due()
    first, second, other = (mail.header("References") for mail in mails.messages())
    assert first == second != other
    assert len({mail.message_id for mail in mails.messages()}) == 3


def test_refused_address_fails_immediately_and_alone(alice, mailbox, mails, notification, noon):
    gone = actions.create(alice, name="gone", channel_type="email", given={"email": "nobody@example.com"}).channel
    mails.on("nobody@example.com").refuse(550)
    outbox.notify([gone, mailbox], notification())
    outbox.deliver_due(noon)
    assert Delivery.objects.get(channel=gone).state == "failed"
    assert Delivery.objects.get(channel=mailbox).state == "sent"
    assert mails.messages()[0].recipients == ("alice@example.com",)


@pytest.mark.parametrize(("stage", "code"), [("connect", 421), ("mail", 451), ("data", 452), ("end", 450)])
def test_every_4xx_is_tried_again(mailbox, mails, notification, noon, stage, code):
    mails.on(stage=stage, first=1).refuse(code)
    outbox.notify([mailbox], notification())
    outbox.deliver_due(noon)
    assert row().state == "pending"
    outbox.deliver_due(noon + timedelta(seconds=7))
    assert row().state == "sent"


def test_accepted_but_unconfirmed_message_arrives_at_most_twice(mailbox, mails, notification, noon):
    mails.on(stage="end").lose()
    outbox.notify([mailbox], notification())
    for hours in range(8):
        outbox.deliver_due(noon + timedelta(hours=hours))
    ours = [mail for mail in mails.messages() if mail.subject == "3 pages added"]
    assert len(ours) == 2
    assert len({mail.message_id for mail in ours}) == 1
    assert (row().state, row().error_code) == ("failed", "mail_unconfirmed")


def test_message_with_one_lost_confirmation_is_delivered(mailbox, mails, notification, noon):
    mails.on(stage="end", first=1).lose()
    outbox.notify([mailbox], notification())
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    assert row().state == "sent"
    assert len({mail.message_id for mail in mails.messages()}) == 1


@pytest.mark.parametrize("starttls", ["absent", "refuse", "broken"])
def test_without_starttls_nothing_is_sent(settings, mailbox, mails, notification, noon, starttls):
    mails.starttls = starttls
    settings.EMAIL_USE_TLS = True
    outbox.notify([mailbox], notification())
    outbox.deliver_due(noon)
    assert mails.messages() == []
    assert not any(command.line.upper().startswith(("MAIL", "RCPT", "DATA")) for command in mails.commands.all())
    assert row().state == "pending"


def test_mail_server_without_response_fails_at_the_deadline(settings, mailbox, mails, notification, noon):
    settings.EMAIL_TIMEOUT = 1
    mails.on(stage="mail").hang()
    outbox.notify([mailbox], notification())
    outbox.deliver_due(noon)
    assert (row().state, row().error_code) == ("pending", "mail_unreachable")


def test_subject_with_line_breaks_is_one_line_and_templates_are_literal(mailbox, mails, notification):
    nasty = "{{7*7}} {% import os %} %(x)s {0.__class__} ${x}"
    outbox.notify([mailbox], notification(subject=f"first\r\nBcc: victim@example.com\n{nasty}", text=nasty))
    outbox.deliver_due()
    (mail,) = mails.messages()
    assert mail.recipients == ("alice@example.com",)
    assert not mail.header("Bcc")
    assert mail.subject == f"first Bcc: victim@example.com {nasty}"
    assert nasty in mail.text


def test_markup_in_a_message_is_escaped_unless_a_template_wrote_it(mailbox, mails, notification):
    evil = '"><img src=x onerror=alert(1)>'
    outbox.notify([mailbox], notification("change:1", subject=evil, text=evil))
    outbox.notify([mailbox], notification("change:2", html=evil))
    outbox.notify([mailbox], notification("change:3", html=format_html("<b>{}</b>", evil)))
    outbox.deliver_due()
    first, second, third = mails.messages()
    for mail in (first, second, third):
        assert "<img" not in mail.html
    assert "<b>&quot;&gt;&lt;img" in third.html


def test_ten_megabytes_of_text_become_a_short_mail(mailbox, mails, notification):
    outbox.notify([mailbox], notification(text="word " * 2_000_000))
    outbox.deliver_due()
    (mail,) = mails.messages()
    assert len(mail.raw) < 500_000


def test_unsubscribing_by_the_link_needs_no_account_and_holds(client, mailbox, mails, notification, noon):
    outbox.notify([mailbox], notification())
    outbox.deliver_due(noon)
    (mail,) = mails.messages()
    link = mail.header("List-Unsubscribe").strip(" <>").removeprefix("http://127.0.0.1:8000")
    assert link in mail.text

    assert client.get(link).status_code == 200
    mailbox.refresh_from_db()
    assert mailbox.is_active, "looking is not unsubscribing"
    outbox.notify([mailbox], notification("change:2"))
    assert client.post(link, {"List-Unsubscribe": "One-Click"}).status_code == 200
    outbox.deliver_due(noon)
    assert (row("change:2").state, row("change:2").error_code) == ("skipped", "unsubscribed")
    assert len(mails.messages()) == 1

    client.post(link, {"again": "1"})
    mailbox.refresh_from_db()
    assert mailbox.is_active


def test_forged_or_expired_link_is_not_found(client, mailbox, mails):
    from watchbook.core.notify.channels import email

    good = email.unsubscribe_token(mailbox, "alice@example.com")
    assert email.find_by_token(good) == mailbox
    assert client.get(f"/unsubscribe/{good[:-2]}xx/").status_code == 404
    assert client.get("/unsubscribe/x/").status_code == 404
    actions.update(mailbox, given={"email": "other@example.com"})
    assert client.get(f"/unsubscribe/{good}/").status_code == 404


def test_unsubscribed_address_gets_no_mail_until_its_owner_subscribes(alice, mails):
    from watchbook.core.notify.channels import BadConfig, email

    theirs = actions.create(alice, name="bob", channel_type="email", given={"email": "bob@example.com"}).channel
    own = actions.create(alice, name="me", channel_type="email", given={"email": "alice@example.com"}).channel
    for channel in (theirs, own):
        email.unsubscribe(channel)
        channel.refresh_from_db()
    with pytest.raises(BadConfig):
        actions.update(theirs, is_active=True)
    actions.update(own, is_active=True)
    own.refresh_from_db()
    assert own.is_active


def test_mails_of_the_server_have_no_unsubscribe_link(alice, mails, notification):
    outbox.notify_owner(alice, notification())
    outbox.deliver_due()
    (mail,) = mails.messages(to="alice@example.com")
    assert not mail.header("List-Unsubscribe")


def test_mail_test_without_mail_server_is_not_called_sent(alice, mailbox, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    tried = actions.send_test(mailbox)
    mailbox.refresh_from_db()
    assert (tried.state, tried.error_code, tried.sent_at) == ("failed", "mail_not_set", None)
    assert mailbox.last_test_success is False
    page = people.client_of(alice).post(f"/channels/{mailbox.pk}/test/", follow=True).text
    assert "No mail server is set" in page
    assert "Test sent." not in page


def test_notification_waits_while_no_mail_server_is_set(mailbox, mails, settings, notification):
    backend, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, "django.core.mail.backends.console.EmailBackend"
    outbox.notify([mailbox], notification())
    assert outbox.deliver_due().figures() == {"sent": 0, "failed": 0, "retried": 1, "skipped": 0}
    settings.EMAIL_BACKEND = backend
    outbox.deliver_due(clock.now() + timedelta(hours=1))
    assert len(mails.messages(to="alice@example.com")) == 1
