"""The container image without a registry of images: a base made by debootstrap, built and run by podman.

`python -m scripts.image`: build the image and print how long it takes to build and to serve the first page.
`WATCHBOOK_TEST_BASE_IMAGE` names the archive of a base that exists already and saves debootstrap.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("podman", "debootstrap", "runc")
MISSING = [name for name in NEEDED if not shutil.which(name)]
BUILD_SECONDS = 1800
START_SECONDS = 60
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BASE, IMAGE = "localhost/base:test", "localhost/watchbook:test"
# What a container gets here: no right, no network of its own, a root that cannot be written.
CONFINED = (
    "--network", "host", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--no-healthcheck",
    "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
)  # fmt: skip


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
        if done.returncode:
            raise RuntimeError(f"podman {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout.strip()

    def make_base(self) -> None:
        given = os.environ.get("WATCHBOOK_TEST_BASE_IMAGE")
        archive = Path(given) if given else debootstrapped(self.folder)
        change = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self("import", "--change", change, str(archive), BASE)

    def build(self) -> None:
        """How this machine reaches its package index comes from its own pip settings, never from the Containerfile."""
        given = [name for name in os.environ if name.startswith("PIP_")]
        settings = [part for name in given for part in ("--env", f"{name}={os.environ[name]}")]
        mounts = [
            part
            for place in (CERTIFICATES, "/etc/pip.conf", *os.environ.get("PIP_FIND_LINKS", "").split())
            if Path(place).exists()
            for part in ("--volume", f"{place}:{place}:ro")
        ]
        self(
            "build", "--isolation", "chroot", "--network", "host", "--format", "docker", "--build-arg",
            f"BASE={BASE}", *mounts, *settings, "--tag", IMAGE, str(ROOT),
        )  # fmt: skip

    @contextmanager
    def running(self, *arguments: str, volume: str = "watchbook-test", **settings: str) -> Iterator[tuple[str, str]]:
        """A container and its address."""
        address = f"127.0.0.1:{free_port()}"
        given = [part for name, value in settings.items() for part in ("--env", f"{name}={value}")]
        name = self(
            "run", "--detach", *CONFINED, "--volume", f"{volume}:/data", "--env", f"WATCHBOOK_BIND={address}", *given,
            IMAGE, *arguments,
        )  # fmt: skip
        try:
            yield name, f"http://{address}"
        finally:
            self("rm", "--force", "--volumes", name)

    def megabytes(self) -> float:
        return int(self("image", "inspect", "--format", "{{.Size}}", IMAGE)) / 1e6


def debootstrapped(folder: Path) -> Path:
    """Return an archive of a small Debian with Python, from the mirror that debootstrap knows."""
    tree, archive = folder / "tree", folder / "base.tar"
    packages = "ca-certificates,python3,python3-venv,python3-pip"
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", "trixie", str(tree)]
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_SECONDS)
    subprocess.run(["tar", "-C", str(tree), "-cf", str(archive), "."], check=True, timeout=BUILD_SECONDS)
    return archive


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for_page(address: str, path: str = "/accounts/signup/") -> None:
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}{path}", timeout=START_SECONDS) as response:
                response.read()
                return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)


@contextmanager
def podman() -> Iterator[Podman]:
    with tempfile.TemporaryDirectory(prefix="watchbook-podman-", ignore_cleanup_errors=True) as name:
        used = Podman(Path(name))
        try:
            yield used
        finally:
            used("rmi", "--all", "--force")


def measure(used: Podman) -> tuple[float, float, float, float]:
    """Seconds to build, seconds from `podman run` to the first page, those of the processor, size in MB."""
    used.make_base()
    began = time.monotonic()
    used.build()
    built = time.monotonic() - began
    began = time.monotonic()
    with used.running() as (name, address):
        wait_for_page(address)
        first_page = time.monotonic() - began
        ticks = used("exec", name, "cat", "/proc/1/stat").rpartition(")")[2].split()[11:15]
    return built, first_page, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), used.megabytes()


if __name__ == "__main__":
    if MISSING:
        sys.exit(f"Not on this machine: {', '.join(MISSING)}.")
    with podman() as used:
        built, first_page, processor, size = measure(used)
    print(
        f"built in {built:.1f} s, first page after {first_page:.1f} s ({processor:.1f} s of processor), {size:.0f} MB"
    )
