"""Starts, kills and replaces the processes of one engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.crash.engines import Engine
from tests.crash.process_factory import Process, ProcessFactory

WORDS = {"web": ("web",), "worker": ("worker", "--threads", "3"), "beat": ("beat",)}


@dataclass
class Member:
    role: str
    process: Process


class Processes:
    def __init__(self, engine: Engine, process_factory: ProcessFactory) -> None:
        self.engine = engine
        self.process_factory = process_factory
        self.members: list[Member] = []

    def start(self, role: str, plan: str = "", tick_seconds: float | None = None) -> Process:
        process = self.process_factory.start(WORDS[role], plan, tick_seconds)
        self.members.append(Member(role, process))
        return process

    def fill(self) -> None:
        """Start what is missing of the engine's processes."""
        for role, count in self.engine.roles.items():
            for _ in range(count - len(self.of(role))):
                self.start(role)

    def of(self, role: str) -> list[Member]:
        return [member for member in self.members if member.role == role]

    def kill(self, member: Member) -> None:
        member.process.kill()
        self.members.remove(member)

    def kill_role(self, role: str, count: int | None = None) -> None:
        for member in self.of(role)[:count]:
            self.kill(member)

    def kill_all(self) -> None:
        for member in list(self.members):
            self.kill(member)

    def ended(self) -> list[Member]:
        """Those that are gone without having been killed by us."""
        return [member for member in self.members if not member.process.is_alive]

    def forget(self, process: Process) -> None:
        self.members = [member for member in self.members if member.process is not process]


def until(look: Callable[[], object], seconds: float, every: float = 0.05) -> bool:
    """Look again and again; False when it was in vain."""
    ends = time.monotonic() + seconds
    while not look():
        if time.monotonic() > ends:
            return False
        time.sleep(every)
    return True
