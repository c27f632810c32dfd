"""Runs the scenes of one engine in order. Django is set up before this is imported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

from django.db import connections

from tests.crash.engines import Backing, Engine
from tests.crash.installation import Installation
from tests.crash.ledger import Ledger
from tests.crash.options import Options
from tests.crash.process_factory import ProcessFactory
from tests.crash.processes import Processes
from tests.crash.report import Result
from tests.crash.scenes import backups, kills, outages, schedulers, stops, sweep
from tests.crash.scenes.stage import Stage
from tests.crash.world import World


def play(
    engine: Engine,
    backing: Backing,
    world: World,
    folder: Path,
    result: Result,
    *,
    stack: ExitStack,
    options: Options,
    say: Callable[[str], None],
) -> None:
    # This process is cut off, too, when the database restarts; it says so only in its findings.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    installation = Installation(world)
    stack.callback(connections.close_all)
    logs = folder / "logs"
    logs.mkdir()
    process_factory = ProcessFactory(logs)
    stack.callback(process_factory.close)
    processes = Processes(engine, process_factory)
    stage = Stage(
        engine=engine, backing=backing, processes=processes, installation=installation, ledger=Ledger(installation),
        result=result,
        random=Random(options.seed), say=say, is_quick=options.is_quick,
    )  # fmt: skip
    if not stage.settle("baseline"):
        return
    for name, scene in scenes(stage):
        if not options.scenes or name in options.scenes:
            stage.run(name, scene)
    processes.kill_all()
    _check_server(stage)


def scenes(stage: Stage) -> list[tuple[str, Callable[[Stage], str]]]:
    options = [("sweep", sweep.play), ("kills", kills.play)]
    if stage.is_quick:
        return options
    options += [("schedulers", schedulers.play), ("stops", stops.play)]
    if stage.backing.broker is not None:
        options.append(("broker emptied", outages.empty_broker))
    if stage.engine.name == "redis":
        options.append(("broker restarted", outages.restart_broker))
    if stage.backing.postgres is not None:
        options.append(("database restarted", outages.restart_database))
    return [*options, ("backup and restore", backups.play)]


def _check_server(stage: Stage) -> None:
    if stage.backing.postgres is not None:
        complaint = stage.backing.postgres.check("crash")
        stage.result.findings.wrong += [f"pg_amcheck: {complaint}"] if complaint else []
