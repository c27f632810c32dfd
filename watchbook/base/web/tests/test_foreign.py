"""Connections of other libraries are checked; database connections are released while a request waits."""

from __future__ import annotations

import pytest
from django.db import connection

from standins.webhook_sink import WebhookSink
from watchbook.base.web import transport
from watchbook.base.web.client import Client
from watchbook.base.web.transport import Transport


@pytest.fixture
def sink():
    with WebhookSink() as made:
        yield made


@pytest.fixture
def pool(monkeypatch):
    import urllib3
    from urllib3.util import connection as urllib3_connection

    monkeypatch.setattr(urllib3_connection, "create_connection", urllib3_connection.create_connection)
    transport.guard_urllib3()
    return urllib3.PoolManager(retries=False)


def test_urllib3_connects_to_no_private_address(sink, pool, monkeypatch):
    monkeypatch.delenv("WATCHBOOK_TRUSTED_HOSTS", raising=False)
    with pytest.raises(Exception, match="not allowed"):
        pool.request("POST", sink.address("/hook"), body=b"{}")
    assert not sink.deliveries()


def test_urllib3_refuses_public_name_with_private_address(pool, monkeypatch):
    monkeypatch.setattr(transport, "system_resolver", lambda host, port: ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(Exception, match="not allowed"):
        pool.request("GET", "http://example.com/")


def test_urllib3_connects_to_a_trusted_host(sink, pool, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", sink.netloc)
    pool.request("POST", sink.address("/hook"), body=b"{}")
    assert len(sink.deliveries()) == 1


@pytest.mark.django_db(transaction=True)
def test_database_connection_is_released_while_a_request_waits(sink, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", sink.netloc)
    held = []
    real = Transport.open

    def watching(self, *args, **kwargs):
        held.append(connection.connection is not None)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Transport, "open", watching)
    connection.ensure_connection()
    Client(is_paced=False).send("POST", sink.address("/hook"), b"{}", headers={}, raise_for_status=False)
    has_pool = bool(connection.settings_dict["OPTIONS"].get("pool"))
    assert held == [not has_pool]
