"""A vault of linked Markdown files comes in and goes out with its links: import, export and import again are equal."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from watchbook.base.store.folder import scratch
from watchbook.systems.library import actions
from watchbook.systems.library.jobs.transfer import read_path, write_folder
from watchbook.systems.library.models import Page, Space
from watchbook.systems.library.parse.archive import contents_of
from watchbook.systems.library.parse.bundle import Bundle, Report
from watchbook.systems.library.parse.front import with_front
from watchbook.systems.library.parse.links import PAGE_PATH, Resolver, without_ids
from watchbook.systems.library.store import parent_at, writing
from watchbook.systems.library.store.pages import add_all, prepare_all

IDS = {"Home.md": "1", "Area/Tide table.md": "2", "Area/Deep/Home.md": "3", "Area": "4", "潮汐/高潮.md": "5"}


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ('<a href="Area/Tide%20table.md" rel="x">t</a>', "2"),
        ('<a href="./Area/tide-table">t</a>', "2"),
        ('<a href="/Area/Tide table.md#high">t</a>', "2/#h-high"),
        ('<a href="Area/">t</a>', "4"),
        ("[[Tide table]]", "2"),
        ("[[tide table|words]]", "2"),
        ("[[Deep/Home]]", "3"),
        ("[[Home]]", "1"),
        ("[[高潮#今天]]", "5/#h-%E4%BB%8A%E5%A4%A9"),
        ("![[Tide table]]", "2"),
    ],
)
def test_link_of_a_file_leads_to_its_page(text, page):
    html, missing = Resolver(IDS).resolve("Home.md", f"<p>{text}</p>")
    assert re.findall(r'href="([^"]*)"', html) == [f"{PAGE_PATH}{page}" + ("" if "#" in page else "/")]
    assert missing == []


@pytest.mark.parametrize(
    "text",
    ["<code>[[Home]]</code>", "<pre><code>[[Home]]</code></pre>", '<a href="https://example.org/Home.md">x</a>',
     '<a href="mailto:a@example.org">x</a>'],
)  # fmt: skip
def test_code_and_addresses_elsewhere_are_not_links_to_pages(text):
    assert Resolver(IDS).resolve("Home.md", text) == (text, [])


def test_link_inside_a_file_leads_to_the_anchor_of_its_heading():
    assert Resolver(IDS).resolve("Home.md", '<a href="#part">x</a>') == ('<a href="#h-part">x</a>', [])


def test_link_to_a_missing_file_is_listed_and_stays():
    report = Report()
    pages = contents_of(Bundle({"a.md": b"[x](gone.md) and [[Nowhere]]"}), report).pages
    assert report.unresolved == [("a.md", "gone.md"), ("a.md", "Nowhere")]
    assert 'href="gone.md"' in pages[0].content
    assert "[[Nowhere]]" in pages[0].content


def test_front_matter_is_kept():
    body = b"---\ntitle: Tides\ntags:\n  - sea\n  - moon\n---\n\nwords"
    page = contents_of(Bundle({"a.md": body}), Report()).pages[0]
    assert (page.title, page.content) == ("Tides", "<p>words</p>")
    assert page.front == "title: Tides\ntags:\n  - sea\n  - moon"
    assert with_front("Tides", "words", page.front).encode() == body
    assert page.content.endswith("<p>words</p>")


def vault(seed: int, count: int) -> dict[str, bytes]:
    """Files with links of every kind, to each other in cycles, with equal and Chinese names."""
    chance = random.Random(seed)
    folders = ["", "Area/", "Area/Deep/", "潮汐/", "Notes and more/"]
    names = [f"{chance.choice(folders)}{chance.choice(['Page', '页面', 'Tide table'])} {n // 2}" for n in range(count)]
    paths = sorted({f"{name}.md" for name in names})
    made = {}
    for path in paths:
        up = "../" * path.count("/")
        lines = [f"# {path}", "", "Some *words* and `[[code]]`."]
        for other in chance.sample(paths, min(4, len(paths))):
            link = f"{up}{other}".replace(" ", "%20")
            lines.append(chance.choice([f"- [to]({link})", f"- [[{other[:-3]}]]", f"- [to]({link}#part)"]))
        made[path] = "\n".join(lines).encode()
    return made


def bring(space: Space, folder: Path) -> Report:
    with scratch("import") as unpacked:
        found, report = read_path(folder, unpacked)
        records = prepare_all(found.pages)
        with writing(space.pk):
            place = parent_at(space, None)
            add_all(place, records, None, wrap_title="Vault", reason="imported", files=found.files)
    return report


def shown(space: Space) -> dict[str, str]:
    """Return the text of every page by its path of titles, with the paths of pages instead of their addresses."""
    rows = {page.pk: page for page in Page.objects.filter(space=space)}

    def path(page: Page) -> str:
        above = rows.get(page.parent_page_id)
        return f"{path(above)}/{page.title}" if above else page.title

    addresses = {str(pk): path(page) for pk, page in rows.items()}
    return {
        path(page): re.sub(rf"{PAGE_PATH}([0-9a-f-]{{36}})/", lambda hit: addresses[hit[1]], without_ids(page.content))
        for page in rows.values()
    }


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.django_db
def test_vault_is_equal_after_export_and_import(desk, tmp_path, seed):
    for name, body in vault(seed, 40).items():
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    assert bring(desk.space, tmp_path / "vault").unresolved == []
    first = shown(desk.space)
    assert sum(text.count("<a ") for text in first.values()) >= 100
    write_folder(desk.space, tmp_path / "out")
    for file in (tmp_path / "out").rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)", file.read_text()):
            assert (file.parent / re.sub("%20", " ", target)).exists() or "%" in target, (file, target)
    again = actions.create_space(desk.olga, desk.workspace.pk, "Again")
    assert bring(again, tmp_path / "out").unresolved == []
    assert shown(again) == first
