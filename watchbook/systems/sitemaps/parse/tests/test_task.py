"""Reading through small JSON, as a limited child process does it; and what loading the room costs."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

from watchbook.systems.sitemaps.parse import read_part_task
from watchbook.systems.sitemaps.parse.lists import PartList
from watchbook.systems.sitemaps.parse.records import Limits
from watchbook.systems.sitemaps.parse.tests.files import ADDRESS, BASE, BASE_BYTES, PAGES, index


def run(tmp_path: Path, body: bytes, **more):
    (tmp_path / "in").write_bytes(body)
    argument = {"input_path": str(tmp_path / "in"), "output_path": str(tmp_path / "out"), "base_url": ADDRESS, **more}
    return json.loads(json.dumps(read_part_task(json.loads(json.dumps(argument)))))


def test_pages_go_to_the_output_and_the_summary_comes_back(tmp_path):
    answer = run(tmp_path, gzip.compress(BASE_BYTES + b"<!-- -->") + b"x", limits=Limits().as_json())
    assert answer["state"] == "ok"
    assert (answer["kind"], answer["count"], answer["listed"], answer["complete"]) == ("urlset", 3, 3, True)
    assert answer["notes"] == [
        {
            "code": "trailing_bytes_after_gzip",
            "count": 1,
            "message": "Bytes after the end of the compressed data were ignored.",
        }
    ]
    pages = PartList(ADDRESS, answer["list_sha256"], answer["count"], tmp_path / "out")
    assert [record.url for record in pages.records()] == PAGES


def test_index_answers_its_children(tmp_path):
    answer = run(tmp_path, index("https://e.com/1.xml", "https://e.com/2.xml"))
    assert answer["kind"] == "index"
    assert answer["children"] == [["https://e.com/1.xml", ""], ["https://e.com/2.xml", ""]]
    assert (tmp_path / "out").read_bytes() == b""


def test_failure_is_an_answer_too(tmp_path):
    answer = run(tmp_path, b"<html>")
    assert answer["state"] == "failed"
    assert answer["error"]["kind"] == "NotASitemap"
    assert answer["error"]["code"] == "html_page"


def test_cut_transport_and_small_limits_are_applied(tmp_path):
    assert run(tmp_path, BASE_BYTES, transport_complete=False)["state"] == "incomplete"
    assert run(tmp_path, BASE_BYTES, limits={"urls": 1})["state"] == "over-limit"
    latin = BASE.replace('encoding="UTF-8"', "").replace("/a<", "/é<").encode("latin-1")
    assert run(tmp_path, latin, content_type="text/xml; charset=latin1")["notes"] == []


def test_importing_the_system_loads_no_heavy_library():
    code = (
        "import sys, watchbook.systems.sitemaps.parse, watchbook.systems.sitemaps.compare\n"
        "print([name for name in ('lxml', 'numpy', 'zstandard', 'django', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
