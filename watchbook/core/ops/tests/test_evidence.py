"""Operations report success only with evidence: backups, keys, database, mail, sources."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from django.db import DatabaseError, OperationalError
from django.template import engines
from django.test import Client, RequestFactory

from watchbook.base import clock
from watchbook.base.crypto import encrypt
from watchbook.core.accounts.models import AuditEvent
from watchbook.core.health import Health
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.ops import doctor, middleware, server
from watchbook.core.ops.backup import taking
from watchbook.core.ops.backup.archive import CannotTake
from watchbook.core.ops.tests.processes import Running, environment, prepare_tables, run, until

ROOT = Path(__file__).parents[4]
PASSWORD = "made-up words 4711"
Space = namedtuple("Space", "total used free")


class TestBackup:
    @pytest.mark.skipif(os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite") != "sqlite", reason="one file")
    def test_missing_database_is_refused_and_not_created(self, tmp_path):
        done = run(tmp_path, "backup", DATABASE_URL="")
        assert done.returncode == 1
        assert "There is no database at" in done.stderr
        assert not (tmp_path / "watchbook.sqlite3").exists()

    @pytest.mark.skipif(os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite") != "sqlite", reason="one file")
    def test_schema_without_data_is_refused(self, tmp_path):
        prepare_tables(tmp_path)
        done = run(tmp_path, "backup", DATABASE_URL="")
        assert done.returncode == 1
        assert "The database has no data" in done.stderr
        assert not list(tmp_path.glob("backups/*.tar"))

    @pytest.mark.skipif(os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite") != "sqlite", reason="one file")
    def test_command_leaves_an_audit_row(self, tmp_path):
        prepare_tables(tmp_path)
        run(tmp_path, "users", "add", "ada@example.com", "--verified", "--json", DATABASE_URL="")
        done = run(tmp_path, "backup", DATABASE_URL="")
        assert done.returncode == 0, done.stderr
        look = "from watchbook.core.accounts.models import AuditEvent as A; print(A.objects.get(event='backup.made'))"
        shown = run(tmp_path, "shell", "-v", "0", "-c", look, DATABASE_URL="")
        assert shown.returncode == 0, shown.stderr

    def test_small_disk_is_named_with_real_figures(self, tmp_path, monkeypatch):
        monkeypatch.setattr(taking.shutil, "disk_usage", lambda _folder: Space(10**9, 10**9 - 5_000_000, 5_000_000))
        with pytest.raises(CannotTake, match=r"has 4\.8 MB free\. The backup needs about 16 MB"):
            taking._refuse_small_disk(tmp_path, None)


class TestDoctor:
    @pytest.mark.django_db
    @pytest.mark.parametrize("waiting", [[], ["tides.0002_more"]])
    def test_secret_of_another_key_is_bad(self, operator, monkeypatch, waiting):
        monkeypatch.setattr(doctor.upgrade, "pending_migrations", lambda: waiting)
        assert doctor._secrets() == "No secrets are stored."
        channel = NotificationChannel.objects.create(user=operator, name="x", channel_type="webhook", config={})
        channel.secret = encrypt("https://example.com/x", bound_to="something else")
        channel.save(update_fields=["secret"])
        with pytest.raises(doctor._Bad, match="Stored secrets of notify cannot be decrypted"):
            doctor._secrets()

    def test_database_that_is_away_is_found_in_seconds(self, tmp_path):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            url = f"postgres://nobody:x@127.0.0.1:{taken.getsockname()[1]}/none"
            began = clock.now()
            done = run(tmp_path, "doctor", DATABASE_URL=url)
        assert "The database does not respond" in done.stdout
        assert (clock.now() - began).total_seconds() < 12


def test_command_after_a_killed_migration_migrates_again(tmp_path):
    file = tmp_path / "watchbook.sqlite3"
    first = Running(tmp_path, "-m", "watchbook", "jobs", "list")
    try:
        until(lambda: file.with_name("watchbook.sqlite3.creating").exists() and file.stat().st_size)
    finally:
        first.close()
    assert file.with_name("watchbook.sqlite3.creating").exists()
    assert run(tmp_path, "jobs", "list").returncode == 0
    assert not file.with_name("watchbook.sqlite3.creating").exists()


def test_program_starts_beside_a_file_named_like_a_module(tmp_path):
    (tmp_path / "platform.py").write_text("raise RuntimeError('not the library')")
    done = subprocess.run(
        [sys.executable, "-m", "watchbook", "--version"],
        cwd=tmp_path, env=environment(tmp_path / "home"), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_end_without_a_database_is_no_failure(monkeypatch, caplog):
    def away():
        raise DatabaseError("away")

    monkeypatch.setattr(server, "hand_back_rest", away)
    server.WebProcess._hand_back(None)
    assert "runs could not be handed back" in caplog.text


def test_full_disk_is_not_answered_with_try_again(monkeypatch):
    monkeypatch.setattr(middleware, "disk_usage", lambda: type("Usage", (), {"is_full": True})())
    try:
        raise OperationalError("database or disk is full")
    except OperationalError:
        response = middleware.server_error(RequestFactory().get("/"))
    assert response.status_code == 503
    assert "The disk is full" in response.content.decode()
    assert "Try again in a minute" not in response.content.decode()


@pytest.mark.django_db
def test_readyz_names_the_health_of_every_source(monkeypatch, living, staff_client):
    bad = Health("failing", reason="The site returned HTTP 503.")
    monkeypatch.setattr("watchbook.core.ops.health.all_health", lambda: {"tides": bad})
    answer = staff_client.get("/readyz").json()
    assert answer["sources"] == {"tides": {"state": "failing", "reason": "The site returned HTTP 503."}}
    assert "sources" not in Client().get("/readyz").json()


@pytest.mark.django_db
@pytest.mark.parametrize(("host", "promised"), [("", False), ("mail.example.com", True)])
def test_password_reset_promises_a_mail_only_with_a_mail_server(host, promised, settings):
    settings.EMAIL_HOST = host
    page = Client(headers={"Accept-Language": "en"}).get("/accounts/password/reset/done/").content.decode()
    assert ("you get a link" in page) is promised
    assert ("Check your e-mail" in page) is promised
    assert ("has no mail server" in page) is not promised


@pytest.mark.django_db
@pytest.mark.parametrize(("host", "promised"), [("", False), ("mail.example.com", True)])
def test_sign_up_promises_a_mail_only_with_a_mail_server(host, promised, settings, operator, monkeypatch):
    settings.EMAIL_HOST = host
    monkeypatch.setenv("WATCHBOOK_SIGNUP", "open")
    client = Client(headers={"Accept-Language": "en"})
    form = client.get("/accounts/signup/").content.decode()
    typed = {"email": "dora@example.com", "password1": PASSWORD, "password2": PASSWORD}
    done = client.post("/accounts/signup/", typed, follow=True)
    assert done.redirect_chain[-1][0] == "/accounts/confirm-email/"
    assert ("by e-mail" in form) is promised
    for words in ("Check your e-mail", "sent you a link", "spam folder"):
        assert (words in done.content.decode()) is promised, words
    for page in (form, done.content.decode()):
        assert ("has no mail server" in page) is not promised


def test_tab_title_contains_no_markup(rf):
    text = '{% extends "kit/plain.html" %}{% block title %}a &amp; b, {% when moment %}{% endblock %}'
    page = engines["django"].from_string(text).render({"moment": clock.now()}, None)
    title = page.split("<title>")[1].split("</title>")[0]
    assert "<" not in title
    assert title.startswith("a &amp; b, ")


def test_demo_on_a_taken_port_names_the_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "standins.demo", "--port", str(port)],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_audit_log_has_words_for_backups():
    from watchbook.core.accounts import audit  # titles need the systems

    assert str(audit.titles()["backup.made"]) == "Backup created"
    assert AuditEvent is not None
