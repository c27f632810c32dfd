"""How long a small command takes from its start to its end, beside `django-admin check` in an empty project.

    python -m bench.startup [--rounds 9]

All commands take turns in processes of their own; the least processor time of each counts. The forum's board is a real
server on loopback with nothing on it, and it answers in this process, which is not measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from standins.nga_board import NgaBoard

BAR = 2.0
ROOT = Path(__file__).resolve().parent.parent
EMPTY = "django-admin check"
COMMANDS = {
    "watchbook jobs list": ("jobs", "list"),
    "watchbook nga crawl, an empty board": ("nga", "crawl"),
}


def spent(command: list[str], env: dict[str, str], folder: Path) -> tuple[float, float]:
    """Processor and wall seconds of one command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, wall


def usual() -> dict[str, str]:
    """As at a user's: what was compiled once is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def empty_project(folder: Path) -> dict[str, str]:
    admin = [sys.executable, "-m", "django"]
    subprocess.run([*admin, "startproject", "empty", str(folder)], check=True)
    return {**usual(), "DJANGO_SETTINGS_MODULE": "empty.settings", "PYTHONPATH": str(folder)}


def installation(folder: Path, board: NgaBoard) -> dict[str, str]:
    env = {
        **usual(),
        "WATCHBOOK_HOME": str(folder),
        "WATCHBOOK_ENV_FILE": str(folder / "none.env"),
        "DATABASE_URL": f"sqlite:///{folder / 'desk.sqlite3'}",
        "NGA_BASE_URL": board.url,
        "WATCHBOOK_TRUSTED_HOSTS": board.netloc,
        "WATCHBOOK_PACE": "off",
    }
    for command in (("migrate", "--verbosity", "0"), ("nga", "crawl")):
        subprocess.run([sys.executable, "-m", "watchbook", *command], env=env, cwd=ROOT, check=True)
    return env


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    least: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as name, NgaBoard() as board:
        home, other = Path(name, "home"), Path(name, "empty")
        home.mkdir()
        other.mkdir()
        project, desk = empty_project(other), installation(home, board)
        for _ in range(rounds):
            turns = {EMPTY: spent([sys.executable, "-m", "django", "check"], project, other)}
            for shown, command in COMMANDS.items():
                turns[shown] = spent([sys.executable, "-m", "watchbook", *command], desk, ROOT)
            for shown, seconds in turns.items():
                least[shown] = min(seconds, least.get(shown, seconds))
    missed = []
    for shown, (cpu, wall) in least.items():
        ratio = cpu / least[EMPTY][0]
        print(f"{shown:<38} {cpu * 1000:>6.0f} ms processor, {wall * 1000:>6.0f} ms wall, {ratio:.2f}x")
        missed += [shown] if ratio > BAR else []
    print(f"bar {BAR:g}x: {'missed by ' + ', '.join(missed) if missed else 'met'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
