"""Channels and deliveries for programs."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client

from watchbook.core.accounts import tokens
from watchbook.core.notify import channels, outbox
from watchbook.core.notify.models import Delivery, NotificationChannel

from .conftest import SECRET

pytestmark = pytest.mark.django_db
MAIL = {"email": "a@example.com"}


class Program:
    def __init__(self, user, scopes=("read", "write")):
        self.headers = {"Authorization": f"Bearer {tokens.make(user, list(scopes), 1)[1]}"}

    def __call__(self, method, path, data=None):
        body = json.dumps(data) if data is not None else ""
        return Client().generic(method, f"/api/v1{path}", body, content_type="application/json", headers=self.headers)


@pytest.fixture
def program(alice):
    return Program(alice)


def test_channel_is_created_changed_and_deleted_through_the_api(program, hooks):
    made = program("POST", "/channels", {
        "name": "n8n", "channel_type": "webhook", "is_active": True,
        "config": {"url": hooks.address("/hook"), "headers": {"Authorization": "Bearer zzz-topsecret-9"}},
    })  # fmt: skip
    assert made.status_code == 201
    answer = made.json()
    assert answer["secret"].startswith("whsec_")
    assert "/hook" not in json.dumps(answer["config"])
    assert answer["config"]["headers"] == {"Authorization": channels.MASK}

    path = f"/channels/{answer['id']}"
    read = program("GET", path)
    assert "zzz-topsecret-9" not in read.content.decode()
    assert answer["secret"] not in read.content.decode()
    assert program("GET", "/channels").json()["items"] == [read.json()]

    changed = program("PATCH", path, {"name": "renamed", "config": {"method": "PUT"}}).json()
    assert (changed["name"], changed["config"]["method"]) == ("renamed", "PUT")
    assert channels.read(NotificationChannel.objects.get())["secrets"] == [answer["secret"]]

    tested = program("POST", f"{path}/test").json()
    assert tested["success"] is True
    assert hooks.deliveries()[0].is_signed_with(answer["secret"])
    assert program("GET", path).json()["last_test_success"] is True

    rotated = program("POST", f"{path}/secret").json()
    assert rotated["secret"] != answer["secret"]
    assert program("DELETE", path).status_code == 204
    assert program("GET", path).status_code == 404


def test_given_secret_is_used_and_not_answered(program, hooks):
    given = {"url": hooks.address("/hook"), "secret": SECRET}
    made = program("POST", "/channels", {"name": "x", "channel_type": "webhook", "config": given}).json()
    assert made["secret"] is None
    program("POST", f"/channels/{made['id']}/test")
    assert hooks.deliveries()[0].is_signed_with(SECRET)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "", "channel_type": "email", "config": {"email": "a@example.com"}}, "name"),
        ({"name": "x", "channel_type": "pigeon", "config": {}}, "channel_type"),
        ({"name": "x", "channel_type": "email", "config": {"email": "nobody"}}, "config.email"),
        ({"name": "x", "channel_type": "webhook", "config": {"url": "http://127.0.0.1/"}}, "config.url"),
        ({"name": "x", "channel_type": "email", "config": MAIL, "digest": "never"}, "digest"),
        ({"name": "x", "channel_type": "email", "config": MAIL, "alert_level": "P0"}, "alert_level"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_answered_422_with_its_field(program, given, field):
    answer = program("POST", "/channels", given)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["field"] == field
    assert not NotificationChannel.objects.exists()


def test_channel_cannot_be_created_for_another_user(program, alice, charlie):
    given = {"name": "x", "channel_type": "email", "config": {"email": "a@example.com"}, "user_id": str(charlie.pk)}
    program("POST", "/channels", given)
    assert not NotificationChannel.objects.exists(), "an unknown field is refused, not ignored"


def test_another_user_finds_nothing(program, charlie, operator, webhook, notification, noon):
    (delivery,) = outbox.notify([webhook], notification())
    outbox.deliver_due(noon)
    for user in (charlie, operator):
        stranger = Program(user)
        assert stranger("GET", "/channels").json() == {"items": [], "next": None}
        assert stranger("GET", "/deliveries").json()["items"] == []
        of_alice, of_nobody = (stranger("GET", f"/deliveries?channel_id={pk}") for pk in (webhook.pk, uuid4()))
        assert of_alice.status_code == of_nobody.status_code == 422, "a channel of another user is not known"
        for method, path in (
            ("GET", f"/channels/{webhook.pk}"),
            ("PATCH", f"/channels/{webhook.pk}"),
            ("DELETE", f"/channels/{webhook.pk}"),
            ("POST", f"/channels/{webhook.pk}/test"),
            ("POST", f"/channels/{webhook.pk}/secret"),
            ("POST", f"/deliveries/{delivery.pk}/replay"),
        ):
            assert stranger(method, path, {}).status_code == 404, path
    assert program("GET", f"/channels/{uuid4()}").status_code == 404


def test_deliveries_are_listed_by_page_and_replayed(program, webhook, hooks, notification, noon):
    hooks.plan("/hook", "400", "ok", "ok", "400", "ok")
    for n in range(3):
        outbox.notify([webhook], notification(f"change:{n}"))
    outbox.deliver_due(noon)
    outbox.deliver_due(noon + timedelta(hours=1))
    first = program("GET", "/deliveries?limit=2").json()
    second = program("GET", f"/deliveries?limit=2&cursor={first['next']}").json()
    assert [len(first["items"]), len(second["items"]), second["next"]] == [2, 1, None]
    (failed,) = program("GET", "/deliveries?state=failed").json()["items"]
    assert failed["last_status"] == 400
    assert failed["message_id"].startswith("msg_")
    assert program("POST", f"/deliveries/{failed['id']}/replay").json()["state"] == "pending"
    assert program("POST", f"/deliveries/{failed['id']}/replay").status_code == 409
    assert program("GET", "/deliveries?state=lost").status_code == 422
    outbox.deliver_due()
    assert Delivery.objects.get(pk=failed["id"]).state == "sent"


def test_reading_tokens_cannot_write(alice, webhook):
    reader = Program(alice, ["read"])
    assert reader("GET", "/channels").status_code == 200
    assert reader("DELETE", f"/channels/{webhook.pk}").status_code == 403
    assert reader("POST", f"/channels/{webhook.pk}/test").status_code == 403


def test_too_many_tests_are_answered_429(program, webhook, hooks):
    answers = [program("POST", f"/channels/{webhook.pk}/test").status_code for _ in range(12)]
    assert answers[0] == 200
    assert answers[-1] == 429
