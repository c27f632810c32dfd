"""Stored settings: the environment wins, secrets are never shown, other processes follow."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.utils import translation

import watchbook
from standins.smtp_sink import SmtpSink
from watchbook.base import clock, env
from watchbook.base.store import blobs
from watchbook.base.store.models import Blob
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import make_person
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.notify import options as mail
from watchbook.core.notify.models import Attempt, Delivery, NotificationChannel
from watchbook.core.notify.options import mail_settings
from watchbook.core.ops import options, server, stored
from watchbook.core.ops.models import SettingsCheck, StoredSetting
from watchbook.core.ops.options import address_settings
from watchbook.core.ops.settings_page import Evidence, groups, remember, shown_groups
from watchbook.core.ops.tests.processes import Running, environment, get, prepare_tables, run, until
from watchbook.core.registry import Step

SECRET = "hunter2-sentinel"


@pytest.fixture(autouse=True)
def _restore_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WATCHBOOK_ALLOWED_HOSTS", "testserver")
    names = {**mail_settings(), **address_settings()}
    before = {name: getattr(django_settings, name) for name in names}
    yield
    env.use_stored({})
    for name, value in before.items():
        setattr(django_settings, name, value)


@pytest.fixture
def operator(client: Client) -> Any:
    person = make_person("olga", is_staff=True)
    client.force_login(person)
    return person


@pytest.mark.parametrize(
    ("bind", "public", "expected"),
    [
        ("127.0.0.1:8123", "", "http://127.0.0.1:8123"),
        ("0.0.0.0:8123", "", "http://127.0.0.1:8123"),
        ("127.0.0.1:0", "", "http://127.0.0.1:8000"),
        ("", "", "http://127.0.0.1:8000"),
        ("127.0.0.1:8123", "https://watch.example.com", "https://watch.example.com"),
    ],
)
def test_links_have_the_port_of_the_server_until_a_public_address_is_set(monkeypatch, bind, public, expected):
    monkeypatch.setenv("WATCHBOOK_BIND", bind)
    monkeypatch.setenv("WATCHBOOK_PUBLIC_URL", public)
    assert address_settings()["PUBLIC_URL"] == expected


def test_every_group_has_fields_and_every_field_a_group() -> None:
    used = {option.group for option in stored.storable().values()}
    assert used == set(groups())
    assert all(option.title and option.help for option in stored.storable().values())


@pytest.mark.django_db
def test_saved_setting_applies_and_an_empty_one_is_the_default(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert stored.save({"EMAIL_HOST": "mail.example.org", "EMAIL_PORT": "465"}) == ["EMAIL_HOST", "EMAIL_PORT"]
    assert (mail.EMAIL_HOST.value, django_settings.EMAIL_HOST, django_settings.EMAIL_PORT) == (
        "mail.example.org", "mail.example.org", 465,
    )  # fmt: skip
    with django_capture_on_commit_callbacks(execute=True):
        assert stored.save({"EMAIL_HOST": "mail.example.org", "EMAIL_PORT": None}) == ["EMAIL_PORT"]
    assert (django_settings.EMAIL_HOST, django_settings.EMAIL_PORT) == ("mail.example.org", 25)


@pytest.mark.django_db
def test_environment_wins_and_is_said(client: Client, operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stored.save({"WATCHBOOK_BACKUP_KEEP": "3"})
    stored.load()
    monkeypatch.setenv("WATCHBOOK_BACKUP_KEEP", "9")
    assert options.BACKUP_KEEP.value == 9
    page = client.get("/operations/settings/?group=backups").content.decode()
    assert "Set by the environment variable WATCHBOOK_BACKUP_KEEP." in page
    with pytest.raises(stored.CannotStore, match="environment"):
        stored.save({"WATCHBOOK_BACKUP_KEEP": "4"})


@pytest.mark.django_db
def test_secret_is_stored_encrypted_and_leaves_by_no_way(client: Client, operator: Any) -> None:
    client.post("/operations/settings/mail/", {"EMAIL_HOST": "m.example", "EMAIL_HOST_PASSWORD": SECRET})
    stored.load()
    assert mail.EMAIL_HOST_PASSWORD.value == SECRET
    row = StoredSetting.objects.get(pk="EMAIL_HOST_PASSWORD")
    assert SECRET not in row.value
    page = client.get("/operations/settings/?group=mail").content.decode()
    api = client.get("/api/v1/settings").content.decode()
    assert SECRET not in page + api
    assert "Saved. Type to replace it." in page
    event = AuditEvent.objects.get(event="settings.changed")
    assert "EMAIL_HOST_PASSWORD" in event.subject
    assert SECRET not in str(vars(event))
    client.post("/operations/settings/mail/", {"EMAIL_HOST": "m.example", "clear-EMAIL_HOST_PASSWORD": "1"})
    assert not StoredSetting.objects.filter(pk="EMAIL_HOST_PASSWORD").exists()


@pytest.mark.django_db
def test_refused_value_names_the_field_and_keeps_what_was_typed(client: Client, operator: Any) -> None:
    given = {"EMAIL_HOST": "mail.example.org", "EMAIL_PORT": "many"}
    answer = client.post("/operations/settings/mail/", given)
    page = answer.content.decode()
    assert (answer.status_code, StoredSetting.objects.count()) == (422, 0)
    assert "Enter a whole number." in page
    assert 'value="mail.example.org"' in page
    refused = client.patch("/api/v1/settings", {"values": {"NO_SUCH": "1"}}, content_type="application/json")
    assert refused.status_code == 422


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("EMAIL_PORT", "many", "请输入整数。"),
        ("EMAIL_PORT", "0", "最小值为 1。"),
        ("EMAIL_PORT", "70000", "最大值为 65535。"),
        ("WATCHBOOK_SIGNUP", "maybe", "请选择其中之一：open, closed, first。"),
        ("WATCHBOOK_PUBLIC_URL", "desk", "请输入以 https:// 或 http:// 开头的地址。"),
    ],
)
def test_reason_of_a_refusal_is_in_the_language_of_the_page(operator: Any, name: str, typed: str, said: str) -> None:
    with translation.override("zh-hans"), pytest.raises(stored.CannotStore) as refused:
        stored.save({name: typed})
    assert str(refused.value) == said


@pytest.mark.django_db
def test_every_field_explains_itself_in_both_languages(client: Client, operator: Any) -> None:
    page = client.get("/operations/settings/").content.decode()
    assert "Usually 587 with STARTTLS and 465 with TLS." in page
    for option in stored.storable().values():
        with translation.override("zh-hans"):
            assert re.search("[\u4e00-\u9fff]", f"{option.help}"), option.name


def test_options_of_every_package_are_read_at_start() -> None:
    folder = Path(watchbook.__file__).parent
    names = {".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.glob("*/*/options.py")}
    assert set(server._option_modules()) == names


@pytest.mark.django_db
def test_settings_are_for_operators(client: Client) -> None:
    client.force_login(make_person("mia"))
    assert client.get("/operations/settings/").status_code in {403, 404}
    assert client.post("/operations/settings/mail/", {"EMAIL_HOST": "x"}).status_code in {403, 404}
    assert client.get("/api/v1/settings").status_code == 403


@pytest.mark.django_db
def test_mail_test_says_what_the_server_answered(client: Client, operator: Any) -> None:
    def tested() -> str:
        return client.post("/operations/settings/mail/test/").content.decode()

    assert "No mail server is set." in tested()
    with SmtpSink() as server:
        stored.save({"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(server.port)})
        stored.load()
        page = tested()
        assert "The server accepted a mail to" in page
        assert len(server.messages()) == 1
    assert "failed:" in tested()


@pytest.mark.django_db(transaction=True)
def test_other_thread_of_the_database_follows_within_seconds() -> None:
    stop = threading.Event()
    thread = stored.follow(stop)
    try:
        StoredSetting.objects.create(
            name="WATCHBOOK_BACKUP_KEEP",
            value=stored.encrypt("5", bound_to=stored.bound_to("WATCHBOOK_BACKUP_KEEP")),
            changed_at="2030-01-01T00:00:00Z",
        )
        until(lambda: options.BACKUP_KEEP.value == 5, 20)
    finally:
        stop.set()
        thread.join(10)
        connection.close()


def test_running_server_follows_a_command(tmp_path: Any) -> None:
    prepare_tables(tmp_path)
    server = Running(tmp_path, "-m", "watchbook", "up")
    try:
        address = server.wait_for(r"Watchbook is at (\S+)").group(1)
        assert run(tmp_path, "settings", "set", "WATCHBOOK_SIGNUP", "closed").returncode == 0
        shown = run(tmp_path, "settings", "get", "WATCHBOOK_SIGNUP", "--json")
        assert json.loads(shown.stdout)["settings"][0]["origin"] == "stored"
        until(lambda: b'name="email"' not in get(f"{address}/accounts/signup/")[1], 30)
    finally:
        server.close()
    wrong = run(tmp_path, "settings", "set", "WATCHBOOK_SIGNUP", "maybe")
    assert (wrong.returncode, "Choose one of: open, closed, first." in wrong.stderr) == (1, True)
    assert "WATCHBOOK_HOME" in environment(tmp_path)


@pytest.mark.django_db
def test_page_shows_since_when_a_group_works_or_fails(operator: Any, client: Client) -> None:
    """The state is that of the last test, keeps its beginning, and ends when the values change."""
    ok, bad = Step(True, "Connected."), Step(False, "535 5.7.8 Authentication failed")
    began = clock.now()
    with clock.set_to(began):
        remember("mail", (ok, bad))
    with clock.set_to(began + timedelta(hours=1)):
        remember("mail", (bad,))
    row = SettingsCheck.objects.get()
    assert (row.is_ok, row.since, row.checked_at) == (False, began, began + timedelta(hours=1))
    page = squeezed(client.get("/operations/settings/").content.decode())
    assert "535 5.7.8 Authentication failed" in page
    assert "1 failing" in page
    remember("mail", (ok,))
    row.refresh_from_db()
    assert row.is_ok
    assert row.since > began
    client.post("/operations/settings/mail/", {"EMAIL_HOST": "mail.example.org"})
    assert not SettingsCheck.objects.exists()


def evidence(name: str) -> Evidence | None:
    return next(each.evidence for each in shown_groups() if each.group.name == name)


@pytest.mark.django_db
def test_settings_that_were_never_used_are_not_tried(staff_client: Client) -> None:
    page = squeezed(staff_client.get("/operations/settings/").content.decode())
    assert "2 not tried yet" in page
    assert "Not tried yet" in page
    assert "Working since" not in page
    assert ">Working<" not in page
    found = {each["name"]: each for each in staff_client.get("/api/v1/settings/groups").json()["items"]}
    assert (found["backups"]["state"], found["backups"]["used_at"]) == ("not_tried", None)
    assert (found["mail"]["state"], found["limits"]["state"]) == ("not_set", "default")


def attempt(channel: NotificationChannel, at: datetime, code: str = "") -> None:
    delivery = Delivery.objects.create(channel=channel, event_id=f"e{at}", source="core", kind="x", subject="s")
    Attempt.objects.create(delivery=delivery, number=1, at=at, succeeded=not code, error_code=code)


@pytest.mark.django_db
def test_mail_server_works_since_the_first_delivery_after_the_last_failure(operator: Any, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    channel = NotificationChannel.objects.create(user=operator, name="m", channel_type="email", account_slot=None)
    at = [clock.now() - timedelta(hours=9 - hour) for hour in range(9)]
    assert evidence("mail") is None
    attempt(channel, at[0])
    attempt(channel, at[1], "mail_unreachable")
    seen = evidence("mail")
    assert seen is not None
    assert (seen.is_ok, seen.since, seen.success_at) == (False, at[1], at[0])
    assert "Could not connect to the mail server" in seen.answer
    for moment in at[2:4]:
        attempt(channel, moment)
    attempt(channel, at[4], "bad_address")
    seen = evidence("mail")
    assert seen is not None
    assert (seen.is_ok, seen.since, seen.used_at, seen.failure_at) == (True, at[2], at[3], at[1])
    remember("mail", (Step(True, "Connected."),))
    seen = evidence("mail")
    assert seen is not None
    assert (seen.since, seen.tested_at is not None) == (at[2], True)
    stored.save({"EMAIL_PORT": "2525"})
    assert evidence("mail") is None, "what was seen with other values says nothing"


@pytest.mark.django_db
def test_test_that_fails_after_good_uses_is_failing_since_the_test(operator: Any, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    channel = NotificationChannel.objects.create(user=operator, name="m", channel_type="email", account_slot=None)
    now = clock.now()
    attempt(channel, now - timedelta(hours=1))
    with clock.set_to(now):
        remember("mail", (Step(False, "535 refused"),))
    seen = evidence("mail")
    assert seen is not None
    assert (seen.is_ok, seen.since, seen.answer) == (False, now, "535 refused")
    attempt(channel, now + timedelta(hours=1))
    seen = evidence("mail")
    assert seen is not None
    assert (seen.is_ok, seen.since) == (True, now + timedelta(hours=1))


@pytest.mark.django_db
def test_storage_says_when_content_was_last_stored(staff_client: Client, tmp_path: Any, settings: Any) -> None:
    settings.HOME = tmp_path
    blobs.put(b"content")
    seen = evidence("retention")
    assert seen is not None
    assert (seen.is_ok, seen.since, seen.used_at is not None) == (True, None, True)
    page = squeezed(staff_client.get("/operations/settings/").content.decode())
    assert "last success" in page


@pytest.mark.django_db
def test_storage_and_backups_show_the_true_answer(staff_client: Client, tmp_path: Any, settings: Any) -> None:
    settings.HOME = tmp_path
    page = _tested(staff_client, "retention")
    assert "64 bytes were stored, read and deleted in: " in page
    assert not Blob.objects.exists()
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert "There is no backup yet." in _tested(staff_client, "backups")

    (tmp_path / "backups" / "watchbook-20260101-000000.tar").write_bytes(b"cut short")
    assert "The newest backup cannot be read: " in _tested(staff_client, "backups")
    found = {each["name"]: each for each in staff_client.get("/api/v1/settings/groups").json()["items"]}
    assert (found["backups"]["state"], found["retention"]["state"]) == ("failing", "working")
    assert found["backups"]["answer"].startswith("The newest backup cannot be read: ")

    tried = staff_client.post("/api/v1/settings/groups/backups/test", content_type="application/json").json()
    assert (tried["is_ok"], [step["is_ok"] for step in tried["steps"]]) == (False, [True, True, False])


@pytest.mark.django_db
def test_member_reads_no_state_of_settings(member_client: Client) -> None:
    assert member_client.get("/api/v1/settings/groups").status_code == 403


@pytest.mark.crash
def test_command_tests_a_group_and_lists_the_states(tmp_path: Any) -> None:
    prepare_tables(tmp_path)
    done = run(tmp_path, "settings", "test", "retention", "--json")
    assert (done.returncode, [step["is_ok"] for step in json.loads(done.stdout)["steps"]]) == (0, [True, True])
    states = {
        each["name"]: each["state"]
        for each in json.loads(run(tmp_path, "settings", "groups", "--json").stdout)["groups"]
    }
    assert states["retention"] == "working"
    assert "There is no group nothing with a test. Groups: " in run(tmp_path, "settings", "test", "nothing").stderr


def _tested(client: Client, group: str) -> str:
    return squeezed(client.post(f"/operations/settings/{group}/test/").content.decode())
