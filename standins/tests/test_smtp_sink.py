from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from email.message import EmailMessage

import pytest
import trustme

from standins.smtp_sink import SmtpSink
from standins.tests.clients import read_to_end


@pytest.fixture
def sink():
    with SmtpSink() as sink:
        yield sink


def mail(to: str = "anna@example.com", message_id: str = "<one@example.org>", **more: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "watch@example.org"
    message["To"] = to
    message["Subject"] = more.get("subject", "Änderung 变更")
    message["Message-ID"] = message_id
    message.set_content(more.get("text", "See https://e.com/a?x=1&y=2.\n.A line with a dot\nand <https://e.com/b>\n"))
    message.add_alternative('<p>See <a href="https://e.com/a?x=1&amp;y=2">it</a></p>', subtype="html")
    return message


def send(sink: SmtpSink, message: EmailMessage, **more: float) -> dict[str, tuple[int, bytes]]:
    with smtplib.SMTP(sink.host, sink.port, timeout=more.get("timeout", 5)) as client:
        return client.send_message(message)


def test_mail_is_kept_with_everything_in_it(sink):
    send(sink, mail("anna@example.com, bob@example.com"))
    (message,) = sink.messages()
    assert message.sender == "watch@example.org"
    assert message.recipients == ("anna@example.com", "bob@example.com")
    assert message.subject == "Änderung 变更"
    assert message.message_id == "<one@example.org>"
    assert "\n.A line with a dot\n" in message.text
    assert "<p>" in message.html
    assert message.links() == ["https://e.com/a?x=1&y=2", "https://e.com/b"]
    assert (message.attempt, message.outcome, message.number) == (1, "accepted", 1)
    assert b"Message-ID: <one@example.org>\r\n" in message.raw
    assert not message.is_encrypted


def test_attempts_are_counted_by_message_id_and_recipients(sink):
    send(sink, mail())
    send(sink, mail("bob@example.com"))
    send(sink, mail(message_id="<two@example.org>"))
    send(sink, mail())
    assert [message.attempt for message in sink.messages()] == [1, 1, 1, 2]
    assert len(sink.attempts("<one@example.org>")) == 3
    assert len(sink.messages(to="anna@example.com")) == 3


@pytest.mark.parametrize("code", [450, 550])
def test_one_recipient_can_be_refused_and_the_other_kept(sink, code):
    sink.on("bob@example.com").refuse(code)
    refused = send(sink, mail("anna@example.com, bob@example.com"))
    assert refused["bob@example.com"][0] == code
    assert sink.messages()[0].recipients == ("anna@example.com",)


def test_refusal_can_end_after_the_first_time(sink):
    sink.on("anna@example.com", nth=1).refuse(450)
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(sink, mail())
    send(sink, mail())
    assert len(sink.messages()) == 1


def test_421_ends_the_connection_at_any_stage(sink):
    sink.on(stage="connect", nth=1).refuse(421)
    with pytest.raises(smtplib.SMTPConnectError):
        send(sink, mail())
    sink.on(stage="mail", nth=1).refuse(421)
    with pytest.raises(smtplib.SMTPSenderRefused):
        send(sink, mail())
    send(sink, mail())


def test_mail_refused_at_its_end_is_on_record_but_not_kept(sink):
    sink.on(stage="end", nth=1).refuse(554)
    with pytest.raises(smtplib.SMTPDataError):
        send(sink, mail())
    assert sink.messages() == []
    assert [message.outcome for message in sink.attempts("<one@example.org>")] == ["refused"]


def test_lost_reply_leaves_the_mail_kept_and_the_sender_in_doubt(sink):
    sink.on(stage="end", nth=1).lose()
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(sink, mail())
    assert [message.outcome for message in sink.messages()] == ["lost"]
    send(sink, mail())
    assert [message.attempt for message in sink.messages()] == [1, 2]


def test_disconnect_keeps_nothing(sink):
    sink.on(stage="end", nth=1).disconnect()
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(sink, mail())
    assert sink.journal.all() == []


def test_sink_can_hang_at_any_stage(sink):
    sink.on(stage="data").hang()
    with pytest.raises(smtplib.SMTPServerDisconnected, match="timed out"):
        send(sink, mail(), timeout=0.2)
    sink.on(stage="connect").hang()
    with pytest.raises(smtplib.SMTPServerDisconnected, match="timed out"):
        send(sink, mail(), timeout=0.2)


def test_waiting_ends_when_the_mail_comes(sink):
    threading.Timer(0.05, send, (sink, mail())).start()
    assert sink.wait_for(lambda messages: len(messages) == 1)[0].subject == "Änderung 变更"
    with pytest.raises(TimeoutError):
        sink.wait_for(lambda messages: len(messages) == 2, timeout=0.05)


def test_addresses_beyond_ascii_are_taken(sink):
    with smtplib.SMTP(sink.host, sink.port, timeout=5) as client:
        client.ehlo()
        client.sendmail("watch@example.org", ["用户@例子.example"], b"Subject: x\r\n\r\nhi", ["SMTPUTF8"])
    assert sink.messages()[0].recipients == ("用户@例子.example",)


def test_mail_of_ten_megabytes_arrives_whole(sink):
    text = b"Subject: big\r\n\r\n" + (b"." + b"x" * 900 + b"\r\n") * 11_700
    with smtplib.SMTP(sink.host, sink.port, timeout=5) as client:
        client.sendmail("watch@example.org", ["anna@example.com"], text)
    assert sink.messages()[0].raw == text


def test_talk_is_on_record_and_nonsense_is_answered(sink):
    with socket.create_connection((sink.host, sink.port), timeout=5) as client:
        client.sendall(b"HELO x\r\nDANCE\r\nRCPT TO:<a@b>\r\nDATA\r\nNOOP\r\nVRFY a\r\nRSET\r\nQUIT\r\n")
        said = read_to_end(client)
    assert [int(line[:3]) for line in said.splitlines()] == [220, 250, 502, 503, 503, 250, 252, 250, 221]
    assert [command.code for command in sink.commands.all()][1:3] == [250, 502]
    assert sink.commands.all()[2].line == "DANCE"


@pytest.fixture
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


def test_starttls_and_a_password_work(contexts):
    server, context = contexts
    with SmtpSink(tls=server, needs_tls=True, users={"desk": "secret"}) as sink:
        with pytest.raises(smtplib.SMTPSenderRefused):
            send(sink, mail())
        with smtplib.SMTP(sink.host, sink.port, timeout=5) as client:
            client.starttls(context=context)
            with pytest.raises(smtplib.SMTPAuthenticationError):
                client.login("desk", "wrong")
            client.login("desk", "secret")
            client.send_message(mail())
        assert (sink.messages()[0].is_encrypted, sink.messages()[0].user) == (True, "desk")


def test_tls_from_the_first_byte_works(contexts):
    server, context = contexts
    with SmtpSink(tls=server, speaks_tls_at_once=True) as sink:
        with smtplib.SMTP_SSL(sink.host, sink.port, timeout=5, context=context) as client:
            client.send_message(mail())
        assert sink.messages()[0].is_encrypted


def test_starttls_can_be_absent_refused_or_broken(contexts):
    server, context = contexts
    wanted = {
        "absent": smtplib.SMTPNotSupportedError,
        "refuse": smtplib.SMTPResponseException,
        "broken": ssl.SSLError,
    }
    for mode, error in wanted.items():
        with SmtpSink(tls=server, starttls=mode) as sink:
            client = smtplib.SMTP(sink.host, sink.port, timeout=5)
            with pytest.raises(error):
                client.starttls(context=context)
            client.close()
            assert sink.journal.all() == []


def test_wrong_script_is_refused(sink):
    with pytest.raises(ValueError, match="no such stage"):
        sink.on(stage="lunch")
    with pytest.raises(ValueError, match="only be lost"):
        sink.on(stage="data").lose()
