"""Installs a wheel in each way that the docs name, and measures: size, time to install, time to the first page.

The download is not part of the second time: each way is started once with a warm cache. `make up` starts in a copy of
the tree, `podman run` where podman and debootstrap exist. Prints one table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts import image

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / ".venv" / "bin" / "uv"
AIM_SECONDS = 10.0
OLDEST = (3, 11)


Install = Callable[[Path, Path, str], list[str]]


class NotReady(Exception):
    """The tree cannot be released as it is. The message says what to change."""


@dataclass(frozen=True)
class Measured:
    way: str
    python: str
    install_seconds: float
    first_page_seconds: float
    # Of the processor, until then: what the machine does beside it does not count.
    processor_seconds: float
    megabytes: float

    def line(self) -> str:
        late = "  over the aim of 10 s" if self.first_page_seconds > AIM_SECONDS else ""
        return (
            f"{self.way:<16} {self.python:<7} {self.install_seconds:>9.1f} s {self.first_page_seconds:>9.1f} s"
            f" {self.processor_seconds:>8.1f} s {self.megabytes:>7.0f} MB{late}"
        )


HEADING = f"{'way':<16} {'Python':<7} {'install':>11} {'first page':>11} {'processor':>10} {'size':>10}"


def pythons() -> dict[str, str]:
    """Version -> program, for each Python of this machine that is new enough."""
    found: dict[str, str] = {}
    for minor in range(OLDEST[1], OLDEST[1] + 9):
        name = f"python{OLDEST[0]}.{minor}"
        managed = sorted(Path.home().glob(f".pyenv/versions/*/bin/{name}"))
        managed += sorted(Path.home().glob(f".local/share/uv/python/*/bin/{name}"))
        for program in filter(None, (shutil.which(name), *map(str, managed))):
            # A version manager may have a name without a program behind it.
            if subprocess.run([program, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                found[f"{OLDEST[0]}.{minor}"] = program
                break
    return found


def measure_all(wheel: Path, only: Collection[str] = ()) -> Iterator[Measured]:
    """Pins and plain pip on each Python; all extras, uvx, uv tool and pipx on the newest; `make up` and the image."""
    known = pythons()
    if not known:
        raise NotReady("No Python of version 3.11 or newer was found.")
    ways: list[tuple[str, str, Install]] = [("pip, pins", version, _pinned) for version in known]
    ways += [("pip", version, _plain) for version in known]
    newest = list(known)[-1]
    ways += [("pip, [all]", newest, _everything), ("uvx --from", newest, _uvx)]
    ways += [("uv tool install", newest, _uv_tool), ("pipx install", newest, _pipx)]
    for way, version, install in ways:
        if not only or way in only:
            yield measure(way, version, wheel, known[version], install)
    if not only or "make up" in only:
        yield measure_make()
    if only and "podman run" not in only:
        return
    if image.MISSING:
        print(f"{'podman run':<16} not on this machine: {', '.join(image.MISSING)}")
    else:
        yield measure_image()


def measure(way: str, version: str, wheel: Path, python: str, install: Install) -> Measured:
    with tempfile.TemporaryDirectory(prefix="watchbook-way-") as name:
        folder = Path(name)
        began = time.monotonic()
        command = install(folder, wheel, python)
        installed = time.monotonic() - began
        version_said = run(*command, "--version", home=folder)
        if "watchbook" not in version_said:
            raise NotReady(f"{way}: --version said {version_said!r}.")
        page = Path(run(*command, "docs", "--no-browser", home=folder).strip().removeprefix("file://"))
        if not page.exists():
            raise NotReady(f"{way}: the docs are not in the package.")
        began = time.monotonic()
        with _running(command, folder) as (address, session):
            _first_page(address)
            first_page, processor = time.monotonic() - began, processor_seconds(session)
        return Measured(way, version, installed, first_page, processor, _megabytes(folder))


def measure_make() -> Measured:
    """`make env`, then `make up`, in a copy of the tree as it was committed."""
    with tempfile.TemporaryDirectory(prefix="watchbook-way-") as name:
        folder = Path(name)
        run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", f"{folder}/tree")
        python = run("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
        began = time.monotonic()
        run("make", "-C", f"{folder}/tree", "env", home=folder)
        installed = time.monotonic() - began
        began = time.monotonic()
        with _running(["make", "--no-print-directory", "-C", f"{folder}/tree"], folder) as (address, session):
            _first_page(address)
            first_page, processor = time.monotonic() - began, processor_seconds(session)
        return Measured("make up", python, installed, first_page, processor, _megabytes(folder, folder / "tree/.venv"))


def measure_image() -> Measured:
    with image.podman() as used:
        found = image.measure(used)
    return Measured("podman run", "3.13", *found)


def processor_seconds(session: int) -> float:
    """What all processes of a session have used, with their children that ended."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parts = path.read_text().rpartition(")")[2].split()
            if int(parts[3]) == session:
                total += sum(map(int, parts[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _first_page(address: str) -> None:
    with urllib.request.urlopen(f"{address}/accounts/signup/", timeout=60) as response:
        response.read()


@contextmanager
def _running(command: list[str], folder: Path) -> Iterator[tuple[str, int]]:
    env = {**_env(folder), "WATCHBOOK_BIND": "127.0.0.1:0"}
    process = subprocess.Popen(
        [*command, "up"], env=env, cwd="/", text=True, stdout=subprocess.PIPE, stderr=-2, start_new_session=True
    )
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"Watchbook is at (\S+)", line):
                yield found[1], process.pid
                break
        else:
            raise NotReady(f"{' '.join(command)} up ended: {''.join(said)[-2000:]}")
    finally:
        # The whole group: `make` does not pass the signal on.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _pinned(folder: Path, wheel: Path, python: str) -> list[str]:
    pip = _venv(folder, python)
    run(*pip, "--require-hashes", "-r", str(ROOT / "requirements/base.txt"))
    run(*pip, "--no-deps", str(wheel))
    return [f"{folder}/venv/bin/watchbook"]


def _plain(folder: Path, wheel: Path, python: str) -> list[str]:
    run(*_venv(folder, python), str(wheel))
    return [f"{folder}/venv/bin/watchbook"]


def _everything(folder: Path, wheel: Path, python: str) -> list[str]:
    run(*_venv(folder, python), f"{wheel}[all]")
    return [f"{folder}/venv/bin/watchbook"]


def _venv(folder: Path, python: str) -> list[str]:
    run(python, "-m", "venv", f"{folder}/venv")
    return [f"{folder}/venv/bin/pip", "install", "-q", "--disable-pip-version-check"]


def _uvx(folder: Path, wheel: Path, python: str) -> list[str]:
    command = [str(UV), "tool", "run", "--python", python, "--from", str(wheel), "watchbook"]
    run(*command, "--version", home=folder)
    return command


def _uv_tool(folder: Path, wheel: Path, python: str) -> list[str]:
    run(str(UV), "tool", "install", "-q", "--python", python, str(wheel), home=folder)
    return [f"{folder}/.local/bin/watchbook"]


def _pipx(folder: Path, wheel: Path, python: str) -> list[str]:
    run(python, "-m", "venv", f"{folder}/pipx")
    run(f"{folder}/pipx/bin/pip", "install", "-q", "--disable-pip-version-check", "pipx")
    run(f"{folder}/pipx/bin/pipx", "install", "--quiet", "--python", python, str(wheel), home=folder)
    return [f"{folder}/.local/bin/watchbook"]


def _env(folder: Path) -> dict[str, str]:
    """Nothing of this machine's environment but where packages come from."""
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "UV_", "SSL_", "REQUESTS_"))}
    return {**kept, "PATH": os.environ["PATH"], "HOME": str(folder), "WATCHBOOK_HOME": f"{folder}/home"}


def _megabytes(folder: Path, *places: Path) -> float:
    """Size of what was installed, each file once."""
    roots = [*places, folder / "venv", folder / ".local/share/uv/tools", folder / ".local/share/pipx/venvs"]
    roots = [root for root in roots if root.is_dir()] or [*folder.glob(".cache/uv/archive-v*")]
    seen = {(s.st_dev, s.st_ino): s.st_size for root in roots for p in root.rglob("*") if (s := p.lstat())}
    return sum(seen.values()) / 1e6


def run(*command: str, home: Path | None = None) -> str:
    env = _env(home) if home else None
    done = subprocess.run(command, cwd="/" if home else ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotReady(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", nargs="?", type=Path)
    parser.add_argument("--only", action="append", default=[], help="this way; may be given more than once")
    chosen = parser.parse_args()
    wheels = [chosen.wheel.resolve()] if chosen.wheel else sorted((ROOT / "dist").glob("*.whl"))
    if not wheels or not shutil.which(str(UV)):
        sys.exit("Build a wheel first: make release.")
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(HEADING)
    for each in measure_all(wheels[-1], chosen.only):
        print(each.line(), flush=True)
