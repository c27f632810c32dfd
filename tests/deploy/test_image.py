"""The container image, built and run by podman on a base made by debootstrap. Nightly, and only where both exist."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from scripts.image import IMAGE, MISSING, Podman, podman, wait_for_page
from watchbook.core.ops.tests.processes import get

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Podman]:
    with podman() as used:
        used.make_base()
        used.build()
        yield used


def test_image_serves_as_an_unprivileged_user_and_ends_on_request(engine: Podman) -> None:
    with engine.running() as (name, address):
        wait_for_page(address, "/healthz")
        assert get(f"{address}/accounts/login/")[0] == 200
        assert engine("exec", name, "id", "--user") == "10001"
        engine("stop", "--time", "30", name)
        assert engine("inspect", "--format", "{{.State.ExitCode}}", name) == "0"


def test_volume_keeps_the_data_when_the_container_is_replaced(engine: Podman) -> None:
    """As at an upgrade: a container is removed, the next one continues with its volume. Commands run in both."""
    engine("volume", "create", "kept")
    with engine.running(volume="kept") as (name, address):
        wait_for_page(address)
        engine("exec", name, "watchbook", "users", "add", "operator@example.com", "--operator", "--verified")
        assert "/data/backups/" in engine("exec", name, "watchbook", "backup")
        engine("stop", "--time", "30", name)
    with engine.running(volume="kept") as (name, address):
        wait_for_page(address, "/accounts/login/")
        assert "operator@example.com" in engine("exec", name, "watchbook", "users", "list")
        kind, *command = json.loads(engine("image", "inspect", "--format", "{{json .HealthCheck.Test}}", IMAGE))
        assert kind == "CMD"
        engine("exec", name, *command)
