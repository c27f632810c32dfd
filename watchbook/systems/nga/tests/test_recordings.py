"""Recorded topics of the site, archived, exported in every form and compared with the recording.

Recordings hold texts of real people and are not in the repository: WATCHBOOK_TEST_RECORDINGS names a folder whose
`nga/read-*` files are answers of read.php as they were sent. The recording is read here by a few lines of its own.
"""

from __future__ import annotations

import html
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lxml import html as reader

from standins.server import Answer, Request, Site
from watchbook.base.testing import pages as books
from watchbook.systems.nga import actions
from watchbook.systems.nga.export.files import FORMS
from watchbook.systems.nga.tests.archive import thread_of

FOLDER = Path(os.environ.get("WATCHBOOK_TEST_RECORDINGS") or "/nonexistent") / "nga"
pytestmark = [pytest.mark.django_db, pytest.mark.skipif(not FOLDER.is_dir(), reason="There are no recordings here.")]
TAG = re.compile(r"\[/?[a-z@*][^\[\]]*\]|\[\*\]|===+|---+", re.IGNORECASE)
# What stands in the text as an address of a file, not as words.
FILES = re.compile(r"\[(img|noimg|flash|attach)[^\]]*\].*?\[/\1\]", re.IGNORECASE | re.DOTALL)
# The head of a quotation becomes one short line, and the token of an anonymous author a name.
HEADS = re.compile(
    r"\[(pid|tid)=[^\]]*\](?:Reply|Topic)\[/\1\]\s*(?:\[b\])?\s*Post by .*?\(\d{4}-\d\d-\d\d \d\d:\d\d\):?"
    r"|#anony_[0-9a-f]{32}",
    re.DOTALL,
)


@dataclass(frozen=True)
class Recorded:
    name: str
    body: bytes
    data: dict[str, Any]

    @property
    def tid(self) -> int:
        return int(self.data["__T"]["tid"])

    @property
    def floors(self) -> dict[int, dict[str, Any]]:
        """Posts with a text of their own; a comment is listed here as a stub and below its post with its text."""
        rows = {row["lou"]: row for row in self.data["__R"].values()}
        return {lou: row for lou, row in rows.items() if "content" in row}


def recordings() -> Iterator[Recorded]:
    for path in sorted(FOLDER.glob("read-*")) if FOLDER.is_dir() else ():
        body = path.read_bytes()
        text = body.decode("gb18030", "replace").removeprefix("window.script_muti_get_var_store=")
        if text.startswith('{"data"'):
            data = json.loads(re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", text), strict=False)["data"]
            yield Recorded(path.name, body, data)


class RecordedForum(Site):
    def __init__(self) -> None:
        super().__init__()
        self.topics = {each.tid: each for each in recordings()}

    def respond(self, request: Request) -> Answer:
        topic = self.topics.get(int(request.params.get("tid", 0)))
        if topic is None or request.params.get("page", "1") != "1":
            return Answer(503)
        return Answer(200, topic.body, content_type="text/javascript; charset=GBK")


@pytest.fixture
def forum(monkeypatch) -> Iterator[RecordedForum]:
    with RecordedForum() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        monkeypatch.setenv("NGA_BASE_URL", made.url)
        yield made


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w", text))


def recorded_words(content: Any) -> Counter[str]:
    text = HEADS.sub(" ", FILES.sub(" ", str(content).replace("<br/>", "\n")))
    return words(html.unescape(html.unescape(TAG.sub(" ", text))))


def missing_words(row: dict[str, Any], shown: str) -> Counter[str]:
    """Characters of the recording that are not shown, apart from marks that mean something."""
    return recorded_words(row["content"]) - words(shown)


@pytest.mark.parametrize("name", [each.name for each in recordings()])
def test_exports_of_a_recorded_topic_hold_the_recording(forum, tmp_path, name) -> None:
    [recorded] = [each for each in forum.topics.values() if each.name == name]
    run = actions.read_now(recorded.tid, (1, 1))
    assert run.state == "done", run.error
    thread = thread_of(recorded.tid)
    floors = recorded.floors
    assert thread.title == html.unescape(str(recorded.data["__T"]["subject"]))
    for form in FORMS:
        FORMS[form].write(thread, tmp_path / f"topic.{form}")
    _head, *lines = [json.loads(line) for line in (tmp_path / "topic.jsonl").read_text("utf-8").splitlines()]
    exported = {line["floor_number"]: line for line in lines}
    assert floors.keys() <= exported.keys()
    comments = {int(note["pid"]) for row in floors.values() for note in (row.get("comment") or {}).values()}
    assert {exported[lou]["source_post_id"] for lou in exported.keys() - floors.keys()} <= comments
    page = reader.document_fromstring((tmp_path / "topic.html").read_text("utf-8"))
    with zipfile.ZipFile(tmp_path / "topic.markdown") as archive:
        markdown = archive.read("topic.md").decode()
    book = "".join("".join(each.itertext()) for each in books.read(tmp_path / "topic.epub").values())
    for lou, row in floors.items():
        line = exported[lou]
        # The number of an anonymous author is one of this page only.
        uid = int(row["authorid"]) if int(row["authorid"]) > 0 else None
        assert (line["source_post_id"], line["author_source_user_id"]) == (int(row["pid"]), uid), lou
        shown = reader.fragment_fromstring(line["content_html"] or "<p></p>", create_parent="div").text_content()
        assert not missing_words(row, shown), (lou, row["content"], shown)
        assert not missing_words(row, page.get_element_by_id(f"f{lou}").text_content()), lou
    everything = sum((recorded_words(row["content"]) for row in floors.values()), Counter[str]())
    assert not everything - words(page.text_content())
    assert not everything - words(markdown)
    assert not everything - words(book)
    print(f"{name}: {len(floors)} posts, {sum(everything.values())} characters in four forms")
    books.epubcheck(tmp_path / "topic.epub")
