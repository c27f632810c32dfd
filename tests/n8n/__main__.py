"""python -m tests.n8n: install, import, execute, check; prints what came of it. Exit 1 when anything is not so."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from standins.feishu_table import FeishuTable
from standins.note_platform import NotePlatform
from tests.n8n import scenarios
from tests.n8n.engine import Engine
from tests.n8n.install import CannotInstall, cache_folder, install
from tests.n8n.server import Server


def main() -> int:
    began = time.monotonic()
    print(f"n8n in {cache_folder()}")
    try:
        kit = install()
    except CannotInstall as reason:
        print(f"n8n cannot be had here: {reason}")
        return 1
    folder = tempfile.TemporaryDirectory(prefix="watchbook-n8n-")
    with folder as place, NotePlatform() as platform, FeishuTable() as table:
        home = Path(place)
        (home / "n8n").mkdir()
        server, engine = Server(home / "watchbook", platform), Engine(kit, home / "n8n")
        server.prepare({f"account_0{n}": platform.add_account(f"made-up-session-{n}-00001234") for n in (1, 2)})
        engine.put_credential(server.token)
        for name in ("alert", "recover", "collect", "creators", "comments"):
            engine.put_workflow(scenarios.load(name, server))
        print(f"n8n {engine.version()}: five workflows imported, the mirror follows with the address of its table")
        with server.running():
            lines = [
                *scenarios.collect(engine, server, platform),
                *scenarios.creators(engine, server, platform),
                *scenarios.comments(engine, server, platform),
                *scenarios.mirror(engine, server, table),
                *scenarios.recover(engine, server),
                *scenarios.alert(engine, server),
            ]
        audited = server.command("notes", "security-audit", "--json")
        assert audited["passed"], audited
        for line in [*lines, "security audit of database and log: passed"]:
            print(f"  {line}")
    print(f"all of it in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
