"""Load: abandoned requests stop, one user cannot take every thread, several web processes serve together."""

from __future__ import annotations

import socket
import threading

import pytest
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from watchbook.core.api.load import CLIENT_GONE
from watchbook.core.ops.server import Bind, _listen
from watchbook.core.ops.tests.processes import Running, get, prepare_tables, rows, run, until

LEDGER: list[str] = []
STARTED, GO_ON = threading.Event(), threading.Event()


@csrf_exempt
@login_not_required
def slow(request: HttpRequest, name: str) -> HttpResponse:
    LEDGER.append(f"{name} started")
    _query()
    STARTED.set()
    assert GO_ON.wait(30)
    _query()
    LEDGER.append(f"{name} computed")
    return HttpResponse("done")


def _query() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


urlpatterns = [path("slow/<str:name>/", slow)]


@pytest.fixture
def server(settings, monkeypatch):
    """A real waitress with one thread and the real middleware."""
    settings.ROOT_URLCONF = __name__
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    monkeypatch.setenv("WATCHBOOK_WEB_THREADS", "1")
    LEDGER.clear()
    STARTED.clear()
    GO_ON.clear()
    made = _listen(Bind("127.0.0.1", 0), None)
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    yield made
    GO_ON.set()
    made.task_dispatcher.shutdown(timeout=5)
    made.close()


def ask(server, name, method="GET"):
    client = socket.create_connection(("127.0.0.1", server.effective_port), timeout=30)
    client.sendall(f"{method} /slow/{name}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode())
    return client


@pytest.mark.django_db(transaction=True)
def test_request_of_a_client_that_left_stops_and_queued_ones_do_not_start(server):
    running, queued, patient = ask(server, "running"), None, None
    try:
        assert STARTED.wait(30)
        queued, patient = ask(server, "queued"), ask(server, "patient")
        until(lambda: len(server.active_channels) == 3)
        running.close()
        queued.close()
        until(lambda: len(server.active_channels) == 1)  # the server has seen both leave
        GO_ON.set()
        assert b"200 OK" in patient.recv(4096)
    finally:
        for client in filter(None, (queued, patient)):
            client.close()
    assert LEDGER == ["running started", "patient started", "patient computed"]


@pytest.mark.django_db(transaction=True)
def test_writing_request_is_finished_although_its_client_left(server):
    client = ask(server, "post", method="POST")
    assert STARTED.wait(30)
    client.close()
    until(lambda: not server.active_channels)
    GO_ON.set()
    until(lambda: len(LEDGER) == 2)
    assert LEDGER == ["post started", "post computed"]


@pytest.mark.crash
def test_granian_serves_with_several_processes_and_runs_jobs(tmp_path):
    prepare_tables(tmp_path)
    process = Running(tmp_path, "-m", "watchbook", "web", "--server", "granian", WATCHBOOK_MAX_BODY_MB="1")
    try:
        address = process.wait_for(r"Watchbook is at (\S+)").group(1)
        assert get(f"{address}/healthz")[0] == 200
        assert get(f"{address}/accounts/signup/")[0] == 200
        until(lambda: rows(tmp_path, "SELECT 1 FROM job_workers"))
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n\r\n")
            assert b" 413 " in client.recv(4096)
        assert process.ask() == 0
        assert not rows(tmp_path, "SELECT name FROM job_workers")
        assert not [line for line in process.lines if "Traceback" in line]
    finally:
        process.close()


def test_request_of_a_client_that_left_is_no_warning(caplog, client, db):
    answer = client.get("/healthz", **{"waitress.client_disconnected": lambda: True})
    assert answer.status_code == CLIENT_GONE
    assert [line.message for line in caplog.records if line.name == "django.request"] == []


@pytest.mark.crash
def test_granian_refuses_to_start_where_a_proxy_names_the_user(tmp_path):
    """Granian reads a header `Remote_Email`, which a visitor can send through a proxy, as `Remote-Email`."""
    prepare_tables(tmp_path)
    done = run(tmp_path, "web", "--server", "granian", WATCHBOOK_REMOTE_USER_HEADER="Remote-Email")
    assert done.returncode == 1
    assert "WATCHBOOK_REMOTE_USER_HEADER needs the server waitress" in done.stderr
