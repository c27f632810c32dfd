"""The runner inside the web process: a few threads on the queue of record and one scheduler, no broker."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, close_old_connections, connections

from watchbook.core import registry
from watchbook.core.jobs import carrier, liveness, options, queue, runner, scheduler
from watchbook.core.jobs.context import draining

log = logging.getLogger(__name__)

# Without a bell a thread looks by itself this often: runs that became due, runs other processes put in.
LOOK_EVERY_SECONDS = 0.5


class Embedded:
    """Started by `watchbook up` and `watchbook web`; stopped with them."""

    def __init__(self, threads: int | None = None) -> None:
        self.stopping = threading.Event()
        count = threads or options.THREADS.value
        self.threads = [threading.Thread(target=self._work, name=f"jobs-{n}", daemon=True) for n in range(count)]
        self.threads.append(
            threading.Thread(
                target=scheduler.run_forever, args=(self.stopping,), kwargs={"role": "beat"}, name="tick", daemon=True
            )
        )

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self, grace_seconds: float = 20) -> None:
        """Finish or hand back what runs, then return."""
        self.stopping.set()
        draining.set()
        carrier.bell.set()
        for thread in self.threads:
            thread.join(timeout=grace_seconds)

    def _work(self) -> None:
        name = carrier.process_name("worker")
        try:
            while not self.stopping.is_set():
                if not self._one(name):
                    carrier.bell.wait(LOOK_EVERY_SECONDS)
                    carrier.bell.clear()
            liveness.leave(name)
        finally:
            connections.close_all()

    def _one(self, name: str) -> bool:
        """Run one job if there is one."""
        try:
            close_old_connections()
            liveness.say(name, "worker")
            # Saying so may have waited for the database: what others hand back at the end is not for us.
            run = None if self.stopping.is_set() else queue.claim_next(registry.QUEUES, name)
            if run is None:
                return False
            runner.execute(run)
        except DatabaseError as error:
            log.warning("worker waits for the database: %s", type(error).__name__)
            self.stopping.wait(1)
            return False
        return True
