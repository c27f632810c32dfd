"""Nothing of an import is dropped in silence: each file that becomes no page is listed with its reason."""

from __future__ import annotations

import io
import json
import zipfile

from click.testing import CliRunner
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.base.testing.pages import squeezed
from watchbook.systems.library import actions
from watchbook.systems.library.cli import group
from watchbook.systems.library.models import Page, PageImport
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.tests.test_pages import client_of, url

FILES = {
    "Area.md": b'---\ntitle: "Area  one"\n---\n\nabout the area',
    "Area/Inner.md": b"inner",
    "Notes/plain.md": b"two  spaces",
    "Notes/component.mdx": b"# Component",
    "Notes/latin.md": "café".encode("latin-1"),
    "Notes/picture.png": b"\x89PNG",
    "Notes/table.csv": b"a,b",
    ".obsidian/app.json": b"{}",
    ".obsidian/plugins/readme.md": b"# plugin",
    ".trash/old.md": b"# deleted",
}
SKIPPED = {
    (".obsidian/app.json", "program_folder"),
    (".obsidian/plugins/readme.md", "program_folder"),
    (".trash/old.md", "program_folder"),
}


def archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for name, body in FILES.items():
            out.writestr(name, body)
    return made.getvalue()


def titles() -> set[str]:
    return set(Page.objects.values_list("title", flat=True))


def test_import_lists_every_file_that_becomes_no_page(desk, tmp_path):
    (tmp_path / "vault.zip").write_bytes(archive())
    made = actions.import_file(desk.wanda, desk.space.pk, tmp_path / "vault.zip", "vault.zip")
    assert set(made.report.skipped) == SKIPPED
    assert made.report.decoded == ["Notes/latin.md"]
    assert {"Area  one", "Inner", "plain", "component", "latin"} <= titles()
    assert {"readme", "old", ".obsidian", ".trash"} & titles() == set()
    assert "café" in Page.objects.get(title="latin").content
    assert "two  spaces" in Page.objects.get(title="plain").content
    inner = Page.objects.get(title="Inner")
    assert Page.objects.get(pk=inner.parent_page_id).title == "Area  one", "Area.md and Area/ are one page"


def test_import_api_lists_skipped_files(desk):
    file = SimpleUploadedFile("vault.zip", archive())
    answer = client_of(desk.wanda).post(f"/api/v1/library/spaces/{desk.space.pk}/import", {"file": file}).json()
    assert {(each["path"], each["reason"]) for each in answer["skipped"]} == SKIPPED
    assert (answer["skipped_count"], answer["decoded"]) == (3, ["Notes/latin.md"])
    assert (answer["format"], answer["attachment_count"]) == ("obsidian", 2)


def test_import_page_lists_skipped_files(desk):
    file = SimpleUploadedFile("vault.zip", archive())
    shown = client_of(desk.wanda).post(url("import", desk.space.pk), {"file": file}, follow=True).text
    assert "Import of vault.zip" in shown
    assert "files skipped: 3, links without a target: 0" in squeezed(shown)
    assert "folder of another program" in shown
    assert "not UTF-8; read as Windows-1252" in shown
    log = PageImport.objects.get()
    lines = client_of(desk.rene).get(url("import_report", log.pk) + "?form=csv").text.splitlines()
    assert lines[0] == "kind,item,page,reason,count"
    assert "file,.obsidian/app.json,,folder of another program,1" in lines
    assert client_of(desk.xaver).get(url("import_report", log.pk)).status_code == 404
    client_of(desk.wanda).post(url("undo_import", log.pk))
    assert not Page.objects.live().exists()


def test_import_command_lists_skipped_files_of_a_folder(desk, tmp_path):
    for name, body in FILES.items():
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    (tmp_path / "vault" / "link.md").symlink_to("Area.md")
    said = CliRunner().invoke(group, ["import", str(tmp_path / "vault"), str(desk.space.pk), "--json"])
    answer = json.loads(said.output)
    listed = {(each["path"], each["reason"]) for each in answer["skipped"]}
    assert listed == SKIPPED | {("link.md", "symbolic_link")}
    assert answer["decoded"] == ["Notes/latin.md"]


def test_same_name_twice_in_a_zip_is_listed(desk, tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as out:
        out.writestr("a.md", "first")
        out.writestr("a.md", "second")
    made = actions.import_file(desk.wanda, desk.space.pk, tmp_path / "two.zip", "two.zip")
    assert made.report.skipped == [("a.md", "duplicate_name")]
    assert "first" in Page.objects.get(title="a").content


def test_check_of_a_file_lists_everything_and_writes_nothing(desk, tmp_path):
    client = client_of(desk.wanda)
    address = f"/api/v1/library/spaces/{desk.space.pk}/import"
    answer = client.post(address, {"file": SimpleUploadedFile("vault.zip", archive()), "dry_run": "true"})
    planned = answer.json()
    assert (answer.status_code, planned["dry_run"], planned["folder_title"]) == (200, True, "vault")
    assert {"Area  one", "Inner", "plain"} <= set(planned["titles"])
    assert {(each["path"], each["reason"]) for each in planned["skipped"]} == SKIPPED
    file = SimpleUploadedFile("vault.zip", archive())
    shown = squeezed(client.post(url("import", desk.space.pk), {"file": file, "check": "1"}).text)
    assert "Nothing was written" in shown
    assert "They are placed in a new folder: vault." in shown
    assert "files skipped: 3, links without a target: 0" in shown
    (tmp_path / "vault.zip").write_bytes(archive())
    words = ["import", str(tmp_path / "vault.zip"), str(desk.space.pk), "--dry-run", "--json"]
    said = json.loads(CliRunner().invoke(group, words).output)
    assert said["page_count"] == planned["page_count"]
    assert not Page.objects.exists()
    made = client.post(address, {"file": SimpleUploadedFile("vault.zip", archive())}).json()
    assert made["page_count"] == planned["page_count"] == Page.objects.count(), "the report told the truth"


def test_report_counts_equal_links_and_leads_to_their_page(desk, tmp_path):
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("Tides.md", "[[Gone]] and [[Gone]], [x](lost.md)")
    log = actions.import_file(desk.wanda, desk.space.pk, path, path.name).log
    page = Page.objects.get(title="Tides")
    shown = squeezed(client_of(desk.wanda).get(url("import_report", log.pk)).text)
    assert (
        f'Gone<small class="muted">2 links</small></td><td data-label="On page"><a href="{page_path(page.pk)}">'
        in shown
    )
    assert shown.count(f'href="{page_path(page.pk)}"') == 2
    lines = client_of(desk.wanda).get(url("import_report", log.pk) + "?form=csv").text.splitlines()
    assert sorted(lines[1:]) == [
        f"link,{name},Tides.md,not in the file; stays as it is,{n}" for name, n in (("Gone", 2), ("lost.md", 1))
    ]
    actions.undo_import(desk.wanda, log.pk)
    assert page_path(page.pk) not in client_of(desk.wanda).get(url("import_report", log.pk)).text
