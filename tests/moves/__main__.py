"""`make test-move`: a demo grown to a million rows goes through all six directions and is killed at random on the way.

Each move compares both sides by its own digests; here the digests of all moves are compared with each other, and the
API of each target with the API of its source. `--rows` and `--kills` make it smaller; `--leg N` runs one direction
only, on what the direction before it left in `--folder`. Exit code 0 only if all is equal.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from standins.demo_server import EMAIL
from watchbook.base.testing import servers
from watchbook.core.ops.tests.processes import environment, run

# Every direction once, each from what the one before it made.
ROUND = ("sqlite", "postgres", "mariadb", "sqlite", "mariadb", "postgres", "sqlite")
# A search of the API may be asked more often than a user would.
UNLIMITED = {"WATCHBOOK_LOG_LEVEL": "ERROR"}


class State:
    """What one leg leaves for the next, in a file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "state.json"
        read = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.source: str = read.get("source", "")
        self.token: str = read.get("token", "")
        self.digests: Any = read.get("digests")
        self.api: Any = read.get("api")
        self.kills: int = read.get("kills", 0)
        self.leg: int = read.get("leg", 0)

    def save(self) -> None:
        values = {name: value for name, value in vars(self).items() if name != "file"}
        self.file.write_text(json.dumps(values))


def python(home: Path, url: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env=environment(home, DATABASE_URL=url, **UNLIMITED), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:2])}: {done.stderr[-3000:]}")
    return done.stdout


def prepare(folder: Path, rows: int) -> State:
    """One round of the demo, grown."""
    command = [sys.executable, "-m", "standins.demo", "--once", "--home", str(folder / "demo")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [made] = (folder / "demo").iterdir()
    home = folder / "home"
    made.rename(home)
    state = State(folder)
    state.source = f"sqlite:///{home / 'watchbook.sqlite3'}"
    scopes = [word for scope in ("read", "notes", "staff") for word in ("--scope", scope)]
    added = run(home, "tokens", "add", EMAIL, "--name", "move", *scopes, "--days", "30", "--json")
    state.token = json.loads(added.stdout)["token"]
    began = time.monotonic()
    count = int(python(home, state.source, "tests.moves.grow", str(rows)))
    print(f"{count:,} rows after {time.monotonic() - began:.0f} s", flush=True)
    state.api = api_of(home, state.source, state.token)
    state.save()
    return state


def api_of(home: Path, url: str, token: str) -> Any:
    return json.loads(python(home, url, "tests.moves.api_lists", token))


def new_database(folder: Path, kind: str, leg: int) -> str:
    if kind == "sqlite":
        place = folder / f"sqlite-{leg}"
        place.mkdir()
        return f"sqlite:///{place / 'watchbook.sqlite3'}"
    server = servers.postgres_url() if kind == "postgres" else servers.mariadb_url()
    url = servers.beside(server, f"watchbook_move_{folder.name[-8:].replace('-', '_').lower()}_{leg}")
    servers.drop(url)
    servers.create(url)
    return url


def drop(url: str) -> None:
    if url.startswith("sqlite"):
        shutil.rmtree(Path(url.removeprefix("sqlite:///")).parent, ignore_errors=True)
    else:
        servers.drop(url)


def move(home: Path, source: str, target: str, kills: int, chance: random.Random) -> tuple[Any, int]:
    """Kill the command at random moments, then let it end. Return its result and how often it was killed."""
    killed = 0
    longest = 4.0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-m", "watchbook", "move", "--to", target, "--json"],
            env=environment(home, DATABASE_URL=source), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            said, complained = process.communicate(timeout=chance.uniform(1.0, longest) if killed < kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
            # Longer and longer, so that every step is hit and the move gets on.
            longest *= 1.6
            continue
        if process.returncode:
            raise SystemExit(f"move: {said[-1000:]}{complained[-2000:]}")
        return json.loads(said), killed


def leg(folder: Path, state: State, kills: int, chance: random.Random) -> list[str]:
    home = folder / "home"
    kind = ROUND[state.leg + 1]
    target = new_database(folder, kind, state.leg + 1)
    began = time.monotonic()
    result, killed = move(home, state.source, target, kills, chance)
    spent = time.monotonic() - began
    api = api_of(home, target, state.token)
    problems = [f"{path}: the API answers differ" for path in api if api[path] != state.api.get(path)]
    problems += [f"{path}: only one side has this list" for path in set(api) ^ set(state.api)]
    # The API counts its requests in the cache: that table changes after each move.
    digests = {table: found for table, found in result["tables"].items() if table != "cache_entries"}
    if state.digests is not None and digests != state.digests:
        problems += [f"{table}: another digest" for table in digests if digests[table] != state.digests.get(table)]
    rows = sum(table["rows"] for table in digests.values())
    full = sum(count > 0 for _digest, count in api.values())
    print(
        f"{ROUND[state.leg]:>8} -> {kind:<8} {rows:>9,} rows in {len(digests)} tables, killed {killed} times,"
        f" {spent:.0f} s; {len(api)} lists of the API asked, {full} with rows; {len(problems)} differences",
        flush=True,
    )
    if state.leg:
        drop(state.source)
    state.source, state.digests, state.leg, state.kills = target, digests, state.leg + 1, state.kills + killed
    state.save()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.moves", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20, help="in all directions together")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="kept, so that it can be continued")
    parser.add_argument("--leg", type=int, help="only this direction: 0 prepares, 1 to 6 move")
    chosen = parser.parse_args()
    if not servers.has_mariadb():
        print("MariaDB does not answer; not all directions can be tried.")
        return 1
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="watchbook-move-"))
    folder.mkdir(exist_ok=True)
    problems: list[str] = []
    wanted = range(7) if chosen.leg is None else [chosen.leg]
    for number in wanted:
        if number == 0:
            state = prepare(folder, chosen.rows)
            continue
        state = State(folder)
        assert state.leg == number - 1, "the direction before this one was not moved"
        share = (chosen.kills - state.kills) // (7 - number)
        problems += leg(folder, state, share, random.Random(chosen.seed + number))
    for problem in problems[:40]:
        print(problem)
    state = State(folder)
    if state.leg == len(ROUND) - 1:
        drop(state.source)
        shutil.rmtree(folder)
        print(f"killed {state.kills} times, {'all equal' if not problems else 'NOT EQUAL'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
