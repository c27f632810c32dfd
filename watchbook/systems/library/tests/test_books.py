"""Exports as EPUB and PDF, and the nightly export to a folder or a Git working copy."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from watchbook.base.testing import pages
from watchbook.base.testing.people import client_of
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Conflict, Wrong
from watchbook.systems.library.health import health
from watchbook.systems.library.jobs.nightly import INDEX
from watchbook.systems.library.tests.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def tides(desk):
    """A folder with a page that has a picture, a subpage and a link to another page; and a restricted page."""
    home = desk.folder("Home")
    page = desk.file("Tides", home, "<p>High at six.</p>")
    sub = desk.file("Moon", page, "<p>Full.</p>")
    other = desk.file("Piers", home, f'<p><a href="/library/pages/{page.pk}/">tides</a></p>')
    secret = desk.file("Secret", home, "<p>lantern</p>")
    made = actions.upload(desk.wanda, page.pk, [picture()], "map.png")
    actions.save_page(
        desk.wanda, page.pk, version=1,
        content=f'<p>High at six.</p><p><img src="/library/files/{made.pk}/map.png" alt="Map"></p>',
    )  # fmt: skip
    actions.restrict_page(desk.sven, secret.pk, user_ids=[], group_ids=[])
    return {"home": home, "page": page, "sub": sub, "other": other, "secret": secret}


def written(answer, tmp_path: Path) -> zipfile.ZipFile:
    path = tmp_path / "book"
    path.write_bytes(b"".join(answer.streaming_content))
    return zipfile.ZipFile(path)


def test_book_has_chapters_in_tree_order_with_links_and_pictures(desk, tides, tmp_path):
    answer = client_of(desk.rene).get(f"/library/spaces/{desk.space.pk}/export/?form=epub")
    with written(answer, tmp_path) as book:
        assert book.read("mimetype") == b"application/epub+zip"
        chapters = [book.read(name).decode() for name in sorted(book.namelist()) if "chapter-" in name]
        assert [text.partition("<title>")[2].partition("<")[0] for text in chapters] == [
            "Home", "Tides", "Moon", "Piers"
        ]  # fmt: skip
        assert 'href="chapter-00002.xhtml"' in chapters[3]
        assert book.read("EPUB/picture-00001.png") == picture()
        assert "lantern" not in "".join(chapters)
    part = client_of(desk.rene).get(f"/api/v1/library/pages/{tides['page'].pk}/export?form=epub")
    with written(part, tmp_path) as book:
        assert len([name for name in book.namelist() if "chapter-" in name]) == 2


def test_empty_space_and_unknown_form_are_refused(desk):
    with pytest.raises(Wrong):
        actions.export_space(desk.rene, desk.space.pk, "epub")
    with pytest.raises(Wrong):
        actions.export_space(desk.rene, desk.space.pk, "docx")


def test_pdf_without_chromium_says_what_is_missing(desk, tides, monkeypatch):
    with pytest.raises(Conflict, match="LIBRARY_CHROMIUM") as refused:
        actions.export_page(desk.rene, tides["page"].pk, "pdf")
    assert refused.value.code == "no_chromium"
    assert client_of(desk.rene).get(f"/library/pages/{tides['page'].pk}/export/?form=pdf").status_code == 409
    monkeypatch.setenv("LIBRARY_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(Conflict) as failed:
        actions.export_page(desk.rene, tides["page"].pk, "pdf")
    assert failed.value.code == "pdf_failed"


@pytest.mark.browser
@pages.needs_chromium
def test_pdf_is_printed_by_chromium(desk, tides, monkeypatch):
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium in the path")
    monkeypatch.setenv("LIBRARY_CHROMIUM", found)
    file, name = actions.export_page(desk.rene, tides["page"].pk, "pdf")
    with file:
        body = file.read()
    assert body.startswith(b"%PDF-")
    assert name.endswith(".pdf")
    assert body.count(b"/Type /Page\n") + body.count(b"/Type /Page>") + body.count(b"/Type/Page") >= 1


class TestNightlyExport:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.setenv("LIBRARY_EXPORT_FOLDER", str(tmp_path / "out"))
        return tmp_path / "out"

    def test_without_a_folder_nothing_is_done(self, desk, tides):
        assert run_now("library.export").outcome == "nothing_to_do"

    def test_unchanged_files_are_not_written_again(self, desk, tides, folder):
        first = run_now("library.export")
        assert first.progress == {"spaces": 1, "written": 5, "left_out": 1}
        room = folder / "Team - Space"
        assert sorted(str(path.relative_to(room)) for path in room.rglob("*") if path.is_file()) == [
            "Home/Piers.md", "Home/Tides.md", "Home/Tides/Moon.md", "Home/Tides/map.png", "watchbook.json",
        ]  # fmt: skip
        before = {path: path.stat().st_mtime_ns for path in room.rglob("*")}
        assert run_now("library.export").progress == {"spaces": 1, "unchanged": 5, "left_out": 1}
        assert {path: path.stat().st_mtime_ns for path in room.rglob("*")} == before
        actions.save_page(desk.wanda, tides["other"].pk, version=1, content="<p>new</p>")
        actions.trash_page(desk.wanda, tides["sub"].pk)
        (room / "Home/own.md").write_text("mine")
        third = run_now("library.export").progress
        assert (third["removed"], third["unchanged"]) == (1, 2)
        assert "new" in (room / "Home/Piers.md").read_text()
        assert not (room / "Home/Tides/Moon.md").exists()
        assert (room / "Home/own.md").read_text() == "mine"

    def test_files_of_others_stay_and_are_counted(self, desk, tides, folder):
        (folder / "Team - Space/Home").mkdir(parents=True)
        (folder / "Team - Space/Home/Piers.md").write_text("theirs")
        assert run_now("library.export").progress["foreign"] == 1
        assert (folder / "Team - Space/Home/Piers.md").read_text() == "theirs"

    def test_failed_space_keeps_its_files_and_is_named(self, desk, tides, folder, monkeypatch):
        run_now("library.export")
        actions.trash_page(desk.wanda, tides["sub"].pk)
        monkeypatch.setattr("watchbook.systems.library.jobs.transfer.to_markdown", broken)
        run = run_now("library.export")
        assert (run.state, run.error_code) == (State.FAILED, "partial")
        assert "Team / Space" in run.error
        assert (folder / "Team - Space/Home/Tides/Moon.md").exists()
        assert str(health().reason) == "The nightly export failed."

    def test_git_working_copy_gets_one_commit_for_each_change(self, desk, tides, folder, monkeypatch):
        monkeypatch.setenv("LIBRARY_EXPORT_GIT", "on")
        run = run_now("library.export")
        assert (run.state, run.error_code) == (State.FAILED, "git")
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
        for _time in range(2):
            assert run_now("library.export").state == State.DONE
        log = subprocess.run(["git", "-C", str(folder), "log", "--oneline"], capture_output=True, text=True, check=True)
        assert len(log.stdout.splitlines()) == 1
        assert set(json.loads((folder / INDEX).read_text())) == {str(desk.space.pk)}
        assert JobRun.objects.filter(name="library.export", state=State.DONE).count() == 2


def broken(_text: str) -> str:
    raise OSError("no space left")
