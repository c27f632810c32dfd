"""Compression bombs: memory stays under twice the limit while fetching and while parsing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from standins.faults import gzip_bomb
from standins.server import Answer, Site
from watchbook.core.ops.tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
CAP_MEGABYTES = 30
MEGABYTE = 1_000_000
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
BODIES: dict[str, tuple[bytes, dict[str, str], set[str]]] = {
    "B1 gzip encoding, 300 MB": (gzip_bomb(300), {"Content-Encoding": "gzip"}, {"too_large"}),
    "B2 gzip in gzip encoding, 300 MB": (gzip_bomb(300, 2), {"Content-Encoding": "gzip, gzip"}, {"too_large"}),
    "B1 gzip file, 300 MB": (gzip_bomb(300, 1, URLSET.encode()), {}, {"incomplete", "task_too_big"}),
    "B2 gzip file twice, 300 MB": (gzip_bomb(300, 2, URLSET.encode()), {}, {"incomplete", "task_too_big"}),
    "B1 gzip file inside gzip encoding": (
        gzip_bomb(300, 2, URLSET.encode()), {"Content-Encoding": "gzip"}, {"incomplete", "task_too_big"},
    ),
    "C1 billion laughs": (
        f'<!DOCTYPE urlset [<!ENTITY a0 "ha">{LAUGHS}]>{URLSET}<url><loc>&a11;</loc></url></urlset>'.encode(), {},
        {"entity_declarations"},
    ),
    "C2 one entity, many times": (
        f'<!DOCTYPE urlset [<!ENTITY a "{"x" * 50_000}">]>{URLSET}<url><loc>{"&a;" * 50_000}</loc></url>'.encode(),
        {}, {"entity_declarations"},
    ),
    "C7 deep": (URLSET.encode() + b"<url>" * 200_000, {}, {"incomplete", "complete", "task_too_big", "damaged"}),
    "D4 one name of 20 MB": (
        f"{URLSET}<url><loc>http://x.example/{'a' * 20 * MEGABYTE}</loc></url></urlset>".encode(), {},
        {"complete", "incomplete"},
    ),
}  # fmt: skip


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        made.route("/small", lambda request: Answer.text(f"{URLSET}<url><loc>http://x.example/</loc></url></urlset>"))
        for number, (body, headers, _codes) in enumerate(BODIES.values()):
            answer = Answer(200, body, tuple(headers.items()), content_type="application/xml")
            made.route(f"/{number}", lambda request, answer=answer: answer)
        yield made


def test_compression_bomb_stays_under_twice_the_limit(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.memory_peak", *(site.address(f"/{n}") for n in ("small", *range(len(BODIES))))],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
        env=environment(
            tmp_path, WATCHBOOK_TRUSTED_HOSTS=site.netloc, WATCHBOOK_PACE="off",
            SITEMAPS_PART_MEGABYTES=str(CAP_MEGABYTES),
        ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    known, *measured = json.loads(done.stdout.splitlines()[-1])
    assert 20 * MEGABYTE < known < 30 * MEGABYTE, "the measure itself"
    results = dict(zip(BODIES, measured, strict=True))
    with capsys.disabled():
        print(f"\npeak growth, cap {CAP_MEGABYTES} MB:")
        for name, (said, asking, reading) in results.items():
            print(f"  {name:36} {said:20} asking {asking / 1e6:6.1f} MB  reading {reading / 1e6:6.1f} MB")
    for name, (said, asking, reading) in results.items():
        assert said in BODIES[name][2], name
        assert asking < 2 * CAP_MEGABYTES * MEGABYTE, name
        assert reading < 2 * CAP_MEGABYTES * MEGABYTE, name
