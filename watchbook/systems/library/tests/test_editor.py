"""What the editor asks the server for: pages, people, Markdown both ways; and that its bundle is fresh."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from watchbook.systems import library
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page
from watchbook.systems.library.parse.reading import anchor_of, with_anchors, with_boxes
from watchbook.systems.library.tests.test_pages import client_of, url

ROOM = Path(library.__file__).parent
SOURCES, BUNDLE = ROOM / "editor", ROOM / "static/library/editor.js"
MODULES = ROOM.parents[2] / "build/editor/node_modules"


def test_bundle_was_built_from_these_sources():
    digest = hashlib.sha256()
    for name in ("build.mjs", "package-lock.json", *sorted(f"src/{path.name}" for path in SOURCES.glob("src/*.js"))):
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes())
    said = re.search(r"Built by make editor from ([0-9a-f]{64})", BUNDLE.read_text()[:300])
    assert said is not None
    assert said[1] == digest.hexdigest(), "run `make editor` and commit what it writes"


@pytest.mark.skipif(
    not (shutil.which("node") and MODULES.exists()), reason="no node, or no modules: `make editor` brings them"
)
def test_building_again_gives_the_same_bytes(tmp_path):
    subprocess.run(["node", SOURCES / "build.mjs", MODULES, tmp_path], check=True, capture_output=True, timeout=120)
    assert (tmp_path / "editor.js").read_bytes() == BUNDLE.read_bytes()
    licences = "editor.licences.txt"
    assert (tmp_path / licences).read_bytes() == (BUNDLE.parent / licences).read_bytes()


def test_lock_file_names_no_server():
    assert '"resolved"' not in (SOURCES / "package-lock.json").read_text()


def test_anchors_are_unique_and_outlined():
    html, outline = with_anchors("<h2>Tides &amp; <em>fog</em></h2><p>x</p><h3>潮汐</h3><h2>Tides fog</h2><h2></h2>")
    assert html.startswith('<h2 id="h-tides-fog">Tides &amp; <em>fog</em></h2>')
    assert [(line.anchor, line.is_deep) for line in outline] == [
        ("h-tides-fog", False), ("h-潮汐", True), ("h-tides-fog-2", False), ("h-section", False),
    ]  # fmt: skip
    assert anchor_of("  A  b-c_d! ") == "h-a-b-c_d"


def test_tasks_are_shown_with_boxes():
    html = '<ul data-type="taskList"><li data-type="taskItem" data-checked="true">a</li></ul><ul><li>b</li></ul>'
    assert with_boxes(html).count("<input") == 1
    assert "disabled checked" in with_boxes(html)


@pytest.fixture
def pages(desk):
    home = desk.folder("Home")
    return home, desk.file("Tides", home), desk.file("Night bus", home), desk.file("The night", home)


def test_link_targets_are_found_by_words_of_the_title(desk, pages, django_assert_max_num_queries):
    _home, tides, bus, night = pages
    client = client_of(desk.wanda)
    with django_assert_max_num_queries(19):
        found = client.get(url("link_targets", tides.pk), {"q": "night"}).json()
    assert [one["title"] for one in found] == ["Night bus", "The night"]
    first = {"id": str(bus.pk), "title": "Night bus", "path": "Space / Home", "url": f"/library/pages/{bus.pk}/"}
    assert found[0] == first
    for words in ("nig", "NIGHT bu", "night, bus"):
        assert client_of(desk.wanda).get(url("link_targets", tides.pk), {"q": words}).json()[0]["title"] == "Night bus"
    assert client_of(desk.wanda).get(url("link_targets", tides.pk), {"q": "home"}).json()[0]["title"] == "Home"
    for words in ("ight", "...", "night fog"):
        assert client_of(desk.wanda).get(url("link_targets", tides.pk), {"q": words}).json() == []
    by_id = client_of(desk.wanda).get(url("link_targets", tides.pk), {"q": str(bus.pk)}).json()
    assert by_id == [first], "the address of a page was pasted"
    latest = client_of(desk.rene).get(url("link_targets", tides.pk)).json()
    assert [one["id"] for one in latest][:2] == [str(night.pk), str(bus.pk)]


def test_link_targets_leave_out_spaces_and_pages_that_cannot_be_read(desk, pages):
    hidden = actions.create_space(desk.olga, desk.workspace.pk, "Hidden")
    actions.create_page(desk.olga, hidden.pk, title="Night plans", node_type="folder")
    actions.trash_page(desk.wanda, pages[2].pk)
    found = client_of(desk.wanda).get(url("link_targets", pages[1].pk), {"q": "night"}).json()
    assert [one["title"] for one in found] == ["The night"]
    assert client_of(desk.xaver).get(url("link_targets", pages[1].pk)).status_code == 404
    for gone in (pages[2], Page.objects.get(title="Night plans")):
        assert client_of(desk.wanda).get(url("link_targets", pages[1].pk), {"q": str(gone.pk)}).json() == []


def test_people_are_those_who_can_read_the_page(desk, pages):
    found = client_of(desk.rene).get(url("people", pages[1].pk)).json()
    emails = {one["email"] for one in found}
    assert desk.wanda.email in emails
    assert desk.olga.email in emails
    assert desk.otto.email not in emails
    assert desk.xaver.email not in emails
    named = client_of(desk.wanda).get(url("people", pages[1].pk), {"q": "zit"}).json()
    assert [one["id"] for one in named] == [str(desk.zita.pk)]
    assert client_of(desk.otto).get(url("people", pages[1].pk)).status_code == 404


def test_pasted_markdown_is_converted_for_writers_only(desk, pages):
    asked = {"markdown": "# Hi\n\n*you*<script>x</script>"}
    answer = client_of(desk.wanda).post(url("convert", pages[1].pk), asked, headers={"Accept": "application/json"})
    assert answer.json()["html"] == "<h1>Hi</h1><p><em>you</em></p>"
    refused = client_of(desk.rene).post(url("convert", pages[1].pk), asked, headers={"Accept": "application/json"})
    assert refused.status_code == 403
    long = {"markdown": "x" * (3 * 1024 * 1024)}
    refused = client_of(desk.wanda).post(url("convert", pages[1].pk), long, headers={"Accept": "application/json"})
    assert refused.status_code == 422


def test_markdown_view_saves_the_same_page(desk, pages):
    tides = pages[1]
    content = "<h2>Tides</h2><p>High at <strong>six</strong>.</p><ul><li>a<ul><li>b</li></ul></li></ul>"
    actions.save_page(desk.wanda, tides.pk, version=1, content=content)
    client = client_of(desk.wanda)
    shown = client.get(url("page", tides.pk), {"view": "markdown"})
    markdown = shown.context["markdown"]
    client.post(url("save", tides.pk), {"version": 2, "title": "Tides", "markdown": markdown})
    assert Page.objects.get(pk=tides.pk).content == content
    client.post(url("save", tides.pk), {"version": 2, "title": "Tides", "markdown": markdown + "\nMore.\n"})
    assert Page.objects.get(pk=tides.pk).content == content + "<p>More.</p>"
    assert "markdown" not in client_of(desk.rene).get(url("page", tides.pk), {"view": "markdown"}).context
