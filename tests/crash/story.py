"""The scenes of one carrier, in order. Django is set up before this is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

from django.db import connections

from tests.crash.carriers import Backing, Carrier
from tests.crash.crew import Crew
from tests.crash.house import House
from tests.crash.ledger import Ledger
from tests.crash.nursery import Nursery
from tests.crash.report import Result
from tests.crash.scenes import backups, kills, outages, schedulers, stops, sweep
from tests.crash.scenes.stage import Stage
from tests.crash.wanted import Wanted
from tests.crash.world import World


def play(
    carrier: Carrier,
    backing: Backing,
    world: World,
    folder: Path,
    result: Result,
    *,
    stack: ExitStack,
    wanted: Wanted,
    say: Callable[[str], None],
) -> None:
    # This process is cut off, too, when the database restarts; it says so only in its findings.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    house = House(world)
    stack.callback(connections.close_all)
    logs = folder / "logs"
    logs.mkdir()
    nursery = Nursery(logs)
    stack.callback(nursery.close)
    crew = Crew(carrier, nursery)
    stage = Stage(
        carrier=carrier, backing=backing, crew=crew, house=house, ledger=Ledger(house), result=result,
        random=Random(wanted.seed), say=say, is_quick=wanted.is_quick,
    )  # fmt: skip
    if not stage.settle("baseline"):
        return
    for name, scene in scenes(stage):
        if not wanted.scenes or name in wanted.scenes:
            stage.run(name, scene)
    crew.kill_all()
    _check_server(stage)


def scenes(stage: Stage) -> list[tuple[str, Callable[[Stage], str]]]:
    wanted = [("sweep", sweep.play), ("kills", kills.play)]
    if stage.is_quick:
        return wanted
    wanted += [("schedulers", schedulers.play), ("stops", stops.play)]
    if stage.backing.broker is not None:
        wanted.append(("broker emptied", outages.empty_broker))
    if stage.carrier.name == "redis":
        wanted.append(("broker restarted", outages.restart_broker))
    if stage.backing.postgres is not None:
        wanted.append(("database restarted", outages.restart_database))
    return [*wanted, ("backup and restore", backups.play)]


def _check_server(stage: Stage) -> None:
    if stage.backing.postgres is not None:
        complaint = stage.backing.postgres.check("crash")
        stage.result.findings.wrong += [f"pg_amcheck: {complaint}"] if complaint else []
