"""Processes without a folder in common: the same keys, or no start; keys that the server makes are in the database."""

from __future__ import annotations

import pytest
from django.db import transaction

from watchbook.base import clock
from watchbook.base.store import keys as server_keys
from watchbook.base.store.models import ServerKey
from watchbook.base.terminal import Failure
from watchbook.core.ops import keys
from watchbook.core.ops.models import ProcessKeys
from watchbook.core.ops.tests.processes import Running, prepare_tables, rows, run, until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unknown(monkeypatch):
    monkeypatch.setattr(server_keys, "_known", {})


def other(**prints: list[str]) -> None:
    ProcessKeys.objects.create(name="elsewhere:7", prints={**keys.held(), **prints}, seen_at=clock.now())


def test_process_with_the_same_keys_starts():
    other()
    keys.refuse_others()


@pytest.mark.parametrize("name", ["SECRET_KEY", "WATCHBOOK_SECRETS_KEYS", "COOKIE_MASTER_KEY", "NOTES_HASH_KEY"])
def test_process_with_another_key_does_not_start(name, monkeypatch):
    monkeypatch.setenv("COOKIE_MASTER_KEY", "m" * 40)
    monkeypatch.setenv("NOTES_HASH_KEY", "h" * 40)
    other(**{name: ["0" * 16]})
    with pytest.raises(Failure, match=rf"{name} differs from that of a running process \(elsewhere:7\)"):
        keys.refuse_others()


def test_key_that_only_one_process_has_is_refused(monkeypatch):
    other()
    monkeypatch.setenv("NOTES_HASH_KEY", "h" * 40)
    with pytest.raises(Failure, match="NOTES_HASH_KEY differs"):
        keys.refuse_others()


def test_new_key_beside_the_old_one_is_no_difference(settings):
    other()
    settings.SECRETS_KEYS = {"k2": "another key of this server", **settings.SECRETS_KEYS}
    keys.refuse_others()


def test_process_that_ended_is_no_reason(settings):
    other(SECRET_KEY=["0" * 16])
    ProcessKeys.objects.update(seen_at=clock.now() - keys.ALIVE_FOR * 2)
    keys.refuse_others()


def test_server_key_is_made_once_and_adopted_from_the_folder_of_an_older_version(tmp_path, settings):
    settings.HOME = str(tmp_path)
    made = server_keys.server_key("one")
    assert ServerKey.objects.get(pk="one").sealed.startswith("v2:")
    server_keys._known.clear()
    assert server_keys.server_key("one") == made
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "two").write_text("key of before\n")
    assert server_keys.server_key("two") == "key of before"


@pytest.mark.django_db(transaction=True)
def test_server_key_of_a_failed_transaction_is_not_kept():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        lost = server_keys.server_key("one")
        raise ZeroDivisionError
    assert server_keys.server_key("one") != lost
    assert server_keys.server_key("one") == server_keys.server_key("one")


@pytest.mark.crash
@pytest.mark.slow
def test_second_process_with_another_key_ends_with_a_sentence(tmp_path):
    """Both on one database, each with a data folder of its own."""
    one, two = tmp_path / "one", tmp_path / "two"
    prepare_tables(one)
    url = f"sqlite:///{one / 'watchbook.sqlite3'}"
    process = Running(one, "-m", "watchbook", "web", DATABASE_URL=url)
    try:
        process.wait_for("Watchbook is at")
        until(lambda: rows(one, "SELECT name FROM process_keys"))
        done = run(two, "web", DATABASE_URL=url)
        assert done.returncode == 1
        assert "SECRET_KEY differs from that of a running process" in done.stderr
        assert process.ask() == 0
    finally:
        process.close()
    assert rows(one, "SELECT COUNT(*) FROM process_keys") == [(0,)]
