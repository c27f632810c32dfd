"""The container image, built and run by podman on a base made by debootstrap. Nightly, and only where both exist.

No registry of images is asked. `WATCHBOOK_TEST_BASE_IMAGE` names a base that exists already and saves debootstrap.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from watchbook.core.ops.tests.processes import get, until

ROOT = Path(__file__).parents[2]
NEEDED = ("podman", "debootstrap", "runc")
MISSING = [name for name in NEEDED if not shutil.which(name)]
BUILD_SECONDS = 1800
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}"),
]


class Podman:
    """podman with a storage of its own, so that nothing of the machine's images is touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = [
            "podman", "--root", str(folder / "root"), "--runroot", str(folder / "run"), "--runtime", "runc",
            "--cgroup-manager", "cgroupfs",
        ]  # fmt: skip

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self.command, *arguments], capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
        )
        assert done.returncode == 0, f"podman {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout.strip()


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Podman:
    return Podman(tmp_path_factory.mktemp("podman"))


@pytest.fixture(scope="module")
def base(podman: Podman) -> str:
    given = os.environ.get("WATCHBOOK_TEST_BASE_IMAGE")
    archive = Path(given) if given else _debootstrapped(podman.folder)
    change = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    podman("import", "--change", change, str(archive), "localhost/base:test")
    return "localhost/base:test"


def _debootstrapped(folder: Path) -> Path:
    """Return an archive of a small Debian with Python, from the mirror that debootstrap knows."""
    tree, archive = folder / "tree", folder / "base.tar"
    packages = "ca-certificates,python3,python3-venv,python3-pip"
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", "trixie", str(tree)]
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_SECONDS)
    subprocess.run(["tar", "-C", str(tree), "-cf", str(archive), "."], check=True, timeout=BUILD_SECONDS)
    return archive


@pytest.fixture(scope="module")
def image(podman: Podman, base: str) -> str:
    # How this machine reaches its package index comes from its own pip settings, never from the Containerfile.
    given = [name for name in os.environ if name.startswith("PIP_")]
    settings = [part for name in given for part in ("--env", f"{name}={os.environ[name]}")]
    mounts = [
        part
        for place in (CERTIFICATES, "/etc/pip.conf", *os.environ.get("PIP_FIND_LINKS", "").split())
        if Path(place).exists()
        for part in ("--volume", f"{place}:{place}:ro")
    ]
    podman(
        "build", "--isolation", "chroot", "--network", "host", "--format", "docker", "--build-arg", f"BASE={base}",
        *mounts, *settings, "--tag", "localhost/watchbook:test", str(ROOT),
    )  # fmt: skip
    return "localhost/watchbook:test"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def container(podman: Podman, image: str) -> Iterator[tuple[str, str]]:
    """A running container and its address."""
    address = f"127.0.0.1:{free_port()}"
    name = podman(
        "run", "--detach", "--network", "host", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096",
        "--no-healthcheck", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt",
        "no-new-privileges", "--volume", "watchbook-test:/data", "--env", f"WATCHBOOK_BIND={address}", image,
    )  # fmt: skip
    yield name, f"http://{address}"
    podman("rm", "--force", "--volumes", name)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def test_image_serves_as_an_unprivileged_user_and_ends_on_request(podman: Podman, container: tuple[str, str]) -> None:
    name, address = container
    until(lambda: answers(address))
    assert get(f"{address}/accounts/login/")[0] == 200
    assert podman("exec", name, "id", "--user") == "10001"
    health = podman("image", "inspect", "--format", "{{json .HealthCheck.Test}}", "localhost/watchbook:test")
    assert "healthz" in health
    podman("stop", "--time", "30", name)
    assert podman("inspect", "--format", "{{.State.ExitCode}}", name) == "0"
