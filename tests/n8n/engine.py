"""n8n itself: import, credentials, execute, through its own command line and in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.n8n.install import Kit
from watchbook.base.testing.servers import free_port

SECONDS = 300
QUIET = {
    "DB_TYPE": "sqlite",
    "N8N_LISTEN_ADDRESS": "127.0.0.1",
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_PERSONALIZATION_ENABLED": "false",
    "N8N_COMMUNITY_PACKAGES_ENABLED": "false",
    "GENERIC_TIMEZONE": "Asia/Shanghai",
}


@dataclass(frozen=True)
class Ran:
    """One execution: how it ended, and what each node gave, run by run."""

    status: str
    nodes: dict[str, list[dict[str, Any]]]
    error: str

    def times(self, node: str) -> int:
        return len(self.nodes.get(node, []))

    def items(self, node: str) -> list[dict[str, Any]]:
        """Everything the node put out, over all its runs."""
        return [
            item["json"]
            for run in self.nodes.get(node, [])
            for output in (run.get("data") or {}).get("main", [])
            for item in output or []
        ]


class Engine:
    def __init__(self, kit: Kit, home: Path) -> None:
        self.kit = kit
        self.env = {
            **kit.environment(),
            **QUIET,
            "N8N_USER_FOLDER": str(home),
            "N8N_ENCRYPTION_KEY": "made-up-key-of-a-test",
            "N8N_PORT": str(free_port()),
            "N8N_RUNNERS_BROKER_PORT": str(free_port()),
        }
        self.home = home

    def version(self) -> str:
        return self._run("--version").stdout.strip().splitlines()[-1]

    def put_credential(self, token: str) -> None:
        header = {"name": "Authorization", "value": f"Bearer {token}"}
        row = {"id": "watchbookToken00", "name": "Watchbook token", "type": "httpHeaderAuth", "data": header}
        self._import("credentials", [row])

    def put_feishu_app(self, app_id: str, app_secret: str) -> None:
        """The credential *Feishu app*: what it holds is put into the body of the sign-in."""
        given = {"json": json.dumps({"body": {"app_id": app_id, "app_secret": app_secret}})}
        self._import(
            "credentials", [{"id": "feishuApp0000000", "name": "Feishu app", "type": "httpCustomAuth", "data": given}]
        )

    def put_workflow(self, workflow: dict[str, Any]) -> None:
        self._import("workflow", workflow)

    def publish(self, workflow_id: str) -> None:
        """From the next start on its schedule runs; an error workflow is called only when it is published."""
        self._run("publish:workflow", f"--id={workflow_id}")

    def execute(self, workflow_id: str) -> Ran:
        """Judged by what it printed: the program sometimes dies while it is ending."""
        done = self._run("execute", f"--id={workflow_id}", "--rawOutput", check=False)
        start = done.stdout.find("\n{")
        text = done.stdout[start + 1 :] if start >= 0 else done.stdout
        try:
            found, _rest = json.JSONDecoder().raw_decode(text)
        except ValueError:
            raise AssertionError(f"n8n said:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}") from None
        result = found["data"]["resultData"]
        error = (result.get("error") or {}).get("message", "")
        return Ran(found.get("status", "error" if error else "success"), result["runData"], error)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """The server with its schedules, until the end of the block."""
        with (self.home / "server.log").open("ab") as log:
            process = subprocess.Popen([str(self.kit.program), "start"], env=self.env, stdout=log, stderr=log)
        try:
            self._wait(process)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """/healthz answers before anything is registered; readiness does not."""
        ready = f"http://127.0.0.1:{self.env['N8N_PORT']}/healthz/readiness"
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends and process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(ready, timeout=2):
                return
            time.sleep(0.5)
        raise AssertionError(f"n8n did not start:\n{(self.home / 'server.log').read_text()[-2000:]}")

    def _import(self, what: str, document: Any) -> None:
        path = self.home / "import.json"
        path.write_text(json.dumps(document))
        self._run(f"import:{what}", f"--input={path}")

    def _run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.kit.program), *words], env=self.env, capture_output=True, text=True, timeout=SECONDS
        )
        if check and done.returncode:
            raise AssertionError(f"n8n {words[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done
