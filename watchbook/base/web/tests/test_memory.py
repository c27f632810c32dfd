"""Peak memory of bombs and of large files, measured in a process of its own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from watchbook.base.web.tests.servers import RawServer, page

ROOT = Path(__file__).resolve().parents[4]
MEGABYTE = 1024 * 1024
PLAIN = 100 * MEGABYTE

# Prints the outcome and by how many bytes the peak of the process grew beyond a small fetch. The peak that getrusage
# tells is no use here: a new process inherits that of its parent.
SCRIPT = """
import json, re, sys
from pathlib import Path
from watchbook.base.web.client import Client
from watchbook.base.web.errors import WebError
client, (small, url, wishes) = Client(is_paced=False), json.loads(sys.argv[1])
if "to_file" in wishes: wishes["to_file"] = Path(wishes["to_file"])
client.get(small)
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
before = peak()
try: outcome = client.get(url, **wishes).size
except WebError as error: outcome = type(error).__name__
print(json.dumps([outcome, peak() - before]))
"""


def measure(small: str, url: str, **wishes: object) -> tuple[str | int, int]:
    argument = json.dumps([small, url, wishes])
    door = url.split("/")[2]
    environment = {"PYTHONPATH": str(ROOT), "WATCHBOOK_TRUSTED_HOSTS": door}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    outcome, growth = json.loads(done.stdout)
    return outcome, growth


@cache
def bodies() -> dict[str, bytes]:
    packer = zlib.compressobj(1, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * MEGABYTE) for _ in range(300)) + packer.flush()
    return {
        "/one": page(bomb, content_encoding="gzip"),
        "/two": page(gzip.compress(bomb), content_encoding="gzip, gzip"),
        "/plain": page(b"\0" * PLAIN),
        "/small": page(),
    }


@pytest.fixture
def site(serve: Callable[..., RawServer]) -> RawServer:
    return serve(lambda request: bodies()[request.target])


@pytest.mark.parametrize("path", ["/one", "/two", "/plain"])
def test_bomb_grows_the_process_by_less_than_twice_the_cap(site: RawServer, path: str) -> None:
    cap = 10 * MEGABYTE
    outcome, growth = measure(site.url("/small"), site.url(path), max_bytes=cap)
    assert outcome == "TooLarge"
    assert growth < 2 * cap


def test_page_as_large_as_its_cap_needs_less_than_twice_its_size(site: RawServer) -> None:
    outcome, growth = measure(site.url("/small"), site.url("/plain"), max_bytes=PLAIN)
    assert outcome == PLAIN
    assert PLAIN < growth < 1.5 * PLAIN  # not less either: then the measuring would be wrong


@pytest.mark.parametrize("path", ["/one", "/two"])
def test_large_file_is_spooled_in_constant_memory(site: RawServer, path: str, tmp_path: Path) -> None:
    target = str(tmp_path / "part")
    outcome, growth = measure(site.url("/small"), site.url(path), max_bytes=400 * MEGABYTE, to_file=target)
    assert outcome == 300 * MEGABYTE
    assert growth < 8 * MEGABYTE
