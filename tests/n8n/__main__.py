"""python -m tests.n8n: install, import, execute, check; prints what came of it. Exit 1 when anything is not so."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from standins.note_platform import NotePlatform
from tests.n8n import story
from tests.n8n.engine import Engine
from tests.n8n.house import House
from tests.n8n.install import CannotInstall, cache_folder, install


def main() -> int:
    began = time.monotonic()
    print(f"n8n in {cache_folder()}")
    try:
        kit = install()
    except CannotInstall as reason:
        print(f"n8n cannot be had here: {reason}")
        return 1
    with tempfile.TemporaryDirectory(prefix="watchbook-n8n-") as folder, NotePlatform() as platform:
        home = Path(folder)
        (home / "n8n").mkdir()
        house, engine = House(home / "watchbook", platform), Engine(kit, home / "n8n")
        house.prepare({f"account_0{n}": platform.add_account(f"made-up-session-{n}-00001234") for n in (1, 2)})
        engine.put_credential(house.token)
        for name in ("alert", "recover", "collect"):
            engine.put_workflow(story.load(name, house))
        print(f"n8n {engine.version()}: three workflows imported")
        with house.running():
            lines = [
                *story.collect(engine, house, platform),
                *story.recover(engine, house),
                *story.alert(engine, house),
            ]
        audited = house.command("notes", "security-audit", "--json")
        assert audited["passed"], audited
        for line in [*lines, "security audit of database and log: passed"]:
            print(f"  {line}")
    print(f"all of it in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
