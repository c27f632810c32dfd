"""Hosts on one machine: network namespaces behind a bridge (iproute2, root), each with a folder as its disk."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 40


def missing() -> str:
    """Why there can be no hosts here; empty if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    return "" if shutil.which("ip") else "iproute2 is not installed"


def ip(*words: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """One bridge. The stand-ins and the servers listen on its address, which only these hosts reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        number = os.getpid() % 200 + 20
        self.name = f"wbt{number}"
        self.prefix = f"10.213.{number}"
        self.address = f"{self.prefix}.1"
        self.hosts: list[Host] = []

    def __enter__(self) -> Self:
        ip("link", "add", self.name, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for host in self.hosts:
            host.close()
        ip("link", "del", self.name, check=False)

    def host(self, name: str) -> Host:
        made = Host(self, name, len(self.hosts) + 2)
        self.hosts.append(made)
        return made


class Host:
    """A namespace with one network card, and a folder. One process serves on it at a time."""

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.name = name
        self.space = f"{network.name}-{name}"
        self.address = f"{network.prefix}.{number}"
        self.folder = network.folder / name
        self.logs = network.folder / "logs"
        self.logs.mkdir(exist_ok=True)
        self.folder.mkdir(mode=0o700)
        self.process: subprocess.Popen[bytes] | None = None
        self.words: tuple[str, ...] = ()
        self.env: dict[str, str] = {}
        self._card = f"{network.name}v{number}"
        ip("netns", "add", self.space)
        ip("link", "add", self._card, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", self._card, "master", network.name)
        ip("link", "set", self._card, "up")
        ip("-n", self.space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        ip("-n", self.space, "link", "set", "lo", "up")

    def command(self, *words: str) -> list[str]:
        # `ip netns exec` becomes the program: its number is that of the program.
        return ["ip", "netns", "exec", self.space, sys.executable, "-m", "watchbook", *words]

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        own = {"WATCHBOOK_HOME": str(self.folder), "WATCHBOOK_BIND": f"{self.address}:8000", "PYTHONPATH": str(ROOT)}
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, **settings, **own}

    def start(self, *words: str, **settings: str) -> None:
        self.words, self.env = words, settings
        with (self.logs / f"{self.name}.log").open("ab") as out:
            self.process = subprocess.Popen(
                self.command(*words), env=self.environment(settings), stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )

    def again(self) -> None:
        self.start(*self.words, **self.env)

    def run(self, *words: str, given: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            env=self.environment(settings),
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_SECONDS)
        self.process = None

    def cut(self) -> None:
        """The cable is pulled: nothing is refused, nothing arrives."""
        ip("link", "set", self._card, "down")

    def heal(self) -> None:
        ip("link", "set", self._card, "up")

    def lose_disk(self) -> None:
        """The machine is gone with its disk; another one takes its place."""
        self.kill()
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        self.again()

    def close(self) -> None:
        self.kill()
        ip("netns", "del", self.space, check=False)
