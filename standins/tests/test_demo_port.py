"""The demo ends with a sentence when its port is in use, and sends nothing to the program there."""

from __future__ import annotations

import subprocess
import sys

from standins.server import Site


def test_demo_on_used_port_ends_with_a_sentence_and_sends_nothing(tmp_path):
    with Site() as other:
        port = int(other.netloc.rpartition(":")[2])
        done = subprocess.run(
            [sys.executable, "-m", "standins.demo", "--port", str(port), "--home", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1
        assert f"Another program uses 127.0.0.1:{port}." in done.stderr
        assert "Traceback" not in done.stderr
        assert other.log.count() == 0
        assert list(tmp_path.iterdir()) == []
