from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import threading

import pytest

from standins.messages import Headers
from standins.tests.clients import Reply, ask
from standins.webhook_sink import WebhookSink, verify

# Signed with `openssl dgst -sha256 -mac HMAC`, so that two programs agree.
SECRET = "whsec_YS1tYWRlLXVwLWtleS1vZi0zMi1ieXRlcy1sZW5ndGg="
STAMP = 1767225600
MARK = "Jabzj8Rm/lZ7+zSPPLrGEZWEBHx1DoXGUH/2lEV08cg="
KNOWN = Headers([("Webhook-Id", "msg_sample"), ("Webhook-Timestamp", str(STAMP)), ("Webhook-Signature", f"v1,{MARK}")])
KNOWN_BODY = '{"count": 3, "text": "变更"}'.encode()


@pytest.fixture
def sink():
    with WebhookSink() as sink:
        yield sink


def deliver(sink: WebhookSink, name: str = "msg_1", path: str = "/hook", body: bytes = b'{"a": 1}') -> Reply:
    return ask(sink, path, "POST", body, {"webhook-id": name})


def test_known_signature_is_found_good():
    assert verify(SECRET, KNOWN, KNOWN_BODY, now=STAMP)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "msg_other"),
        ("webhook-timestamp", "1767225601"),
        ("webhook-timestamp", "soon"),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", f"v2,{MARK}"),
        ("webhook-signature", "é"),
        ("webhook-signature", ""),
    ],
)
def test_changed_header_spoils_the_signature(name, value):
    spoiled = Headers([(key, value if key.lower() == name else old) for key, old in KNOWN.pairs])
    assert not verify(SECRET, spoiled, KNOWN_BODY, now=STAMP)


def test_another_body_secret_or_time_spoils_the_signature():
    assert not verify(SECRET, KNOWN, KNOWN_BODY + b" ", now=STAMP)
    assert not verify("whsec_" + base64.b64encode(b"x" * 24).decode(), KNOWN, KNOWN_BODY, now=STAMP)
    assert verify(SECRET, KNOWN, KNOWN_BODY, now=STAMP + 299)
    assert not verify(SECRET, KNOWN, KNOWN_BODY, now=STAMP + 301)
    assert not verify(SECRET, KNOWN, KNOWN_BODY)


def test_one_good_signature_among_several_is_enough(sink):
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    mark = base64.b64encode(hmac.new(key, b"msg_9.1700000000.hello", hashlib.sha256).digest()).decode()
    headers = {
        "webhook-id": "msg_9",
        "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{'A' * 44} v1,{mark}",
    }
    ask(sink, "/hook", "POST", b"hello", headers)
    (delivery,) = sink.deliveries()
    assert delivery.is_signed_with(SECRET, now=1700000001)
    assert not delivery.is_signed_with(SECRET)


def test_attempts_are_counted_by_id_and_everything_is_kept(sink):
    sink.plan("/hook", "500", "ok")
    deliver(sink)
    deliver(sink, "msg_2")
    deliver(sink)
    kept = sink.deliveries("/hook")
    assert [(one.id, one.attempt, one.status) for one in kept] == [
        ("msg_1", 1, 500),
        ("msg_2", 1, 200),
        ("msg_1", 2, 200),
    ]
    assert sink.ids() == {"msg_1": 2, "msg_2": 1}
    assert kept[0].body == kept[2].body
    assert kept[0].monotonic < kept[2].monotonic
    assert kept[0].json() == {"a": 1}


def test_plan_is_followed_and_its_last_answer_stays(sink):
    sink.plan("/hook", "429:30", "307:https://e.com/other", "410", "slow:0.01", "503")
    replies = [deliver(sink) for _ in range(6)]
    assert [reply.status for reply in replies] == [429, 307, 410, 200, 503, 503]
    assert replies[0].headers["Retry-After"] == "30"
    assert replies[1].headers["Location"] == "https://e.com/other"


def test_reset_comes_after_the_body_was_read(sink):
    sink.plan("/hook", "reset", "ok")
    with pytest.raises(ConnectionResetError):
        deliver(sink, body=b"x" * 500_000)
    deliver(sink, body=b"x" * 500_000)
    first, second = sink.deliveries()
    assert first.body == second.body
    assert (first.status, second.status) == (None, 200)


def test_hanging_sink_keeps_the_delivery_all_the_same(sink):
    sink.plan("/hook", "hang")
    connection = http.client.HTTPConnection(sink.host, sink.port, timeout=0.1)
    connection.request("POST", "/hook", b"{}", {"webhook-id": "msg_1"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    sink.wait_for(1)
    assert [one.status for one in sink.deliveries()] == [None]


def test_waiting_ends_when_enough_has_come(sink):
    for number in range(3):
        threading.Timer(0.01 * number, deliver, (sink, f"msg_{number}")).start()
    assert len(sink.wait_for(3)) == 3


def test_deliveries_and_plans_are_open_to_other_processes(sink):
    ask(sink, "/_standin/do/plan", "POST", b'{"path": "/hook", "answers": ["500", "ok"]}')
    assert [deliver(sink).status for _ in range(2)] == [500, 200]
    shown = ask(sink, "/_standin/ledger").json()["deliveries"]
    assert [(one["id"], one["attempt"], one["status"]) for one in shown] == [("msg_1", 1, 500), ("msg_1", 2, 200)]
