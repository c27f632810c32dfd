"""A real n8n in a cache folder of its own: node, pnpm and n8n, fetched once by npm and kept."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

N8N = "2.41.1"
NODE = "24"
PNPM = "10"
# One package comes from outside the registry, others need what cannot be resolved: all have versions that work.
OVERRIDES = {"xlsx": "0.18.5", "linkedom": "0.18.12", "@langchain/langgraph": "1.4.7"}
BUILT = ["sqlite3", "isolated-vm"]
DONE = "installed.json"
MINUTES = 30


class CannotInstall(Exception):
    """n8n cannot be had here. The message says which step failed."""


@dataclass(frozen=True)
class Kit:
    """Where the program is, and what its processes need in their environment."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "n8n" / "node_modules" / ".bin" / "n8n"

    def environment(self) -> dict[str, str]:
        node = self.folder / "node" / "package"
        tools = [str(node / "bin"), str(self.folder / "pnpm" / "node_modules" / ".bin"), os.environ.get("PATH", "")]
        return {**os.environ, "PATH": os.pathsep.join(tools), "npm_config_nodedir": str(node)}


def cache_folder() -> Path:
    given = os.environ.get("WATCHBOOK_N8N_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "watchbook-n8n"


def install() -> Kit:
    """Raises CannotInstall. What is there already is used as it is."""
    kit = Kit(cache_folder())
    mark = kit.folder / DONE
    wanted = {"n8n": N8N, "node": NODE}
    if mark.is_file() and json.loads(mark.read_text()) == wanted:
        return kit
    if platform.system() != "Linux" or shutil.which("npm") is None:
        raise CannotInstall("Linux and npm are needed.")
    for name in ("node", "pnpm", "n8n", "store"):
        (kit.folder / name).mkdir(parents=True, exist_ok=True)
    _install_node(kit)
    _run(["npm", "install", f"pnpm@{PNPM}", "--prefix", str(kit.folder / "pnpm"), "--no-audit", "--no-fund"], kit)
    package = {"name": "n8n-test", "private": True, "pnpm": {"onlyBuiltDependencies": BUILT, "overrides": OVERRIDES}}
    (kit.folder / "n8n" / "package.json").write_text(json.dumps(package))
    _run(["pnpm", "add", f"n8n@{N8N}", "--store-dir", str(kit.folder / "store")], kit, at="n8n")
    mark.write_text(json.dumps(wanted))
    return kit


def _install_node(kit: Kit) -> None:
    kind = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    folder = kit.folder / "node"
    if (folder / "package" / "bin" / "node").is_file():
        return
    _run(["npm", "pack", f"node-linux-{kind}@{NODE}"], kit, at="node")
    [archive] = sorted(folder.glob("node-linux-*.tgz"))[-1:] or [None]
    if archive is None:
        raise CannotInstall("npm packed no node.")
    _run(["tar", "xzf", archive.name], kit, at="node")


def _run(command: list[str], kit: Kit, at: str = ".") -> None:
    print(f"  {' '.join(command[:3])} …", flush=True)
    try:
        done = subprocess.run(
            command, cwd=kit.folder / at, env=kit.environment(), capture_output=True, text=True, timeout=MINUTES * 60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{command[0]} {command[1]}: {type(error).__name__}") from None
    if done.returncode:
        raise CannotInstall(f"{' '.join(command[:3])} failed:\n{(done.stderr or done.stdout)[-2000:]}")
