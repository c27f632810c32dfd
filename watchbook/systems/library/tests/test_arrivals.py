"""Exports of other programs arrive with their files and links, and a vault leaves as it came."""

from __future__ import annotations

import io
import json
import os
import random
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from watchbook.base.store import blobs
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.jobs.transfer import write_folder
from watchbook.systems.library.models import Attachment, AttachmentUse, Page, PageSource, Space
from watchbook.systems.library.parse.archive import Contents, contents_of
from watchbook.systems.library.parse.bundle import Bundle, Limits, Report, read_folder
from watchbook.systems.library.parse.links import FILE_PATH, PAGE_PATH, without_ids
from watchbook.systems.library.parse.markdown import to_html, to_markdown
from watchbook.systems.library.tests.pictures import picture
from watchbook.systems.library.tests.test_vault import bring

ID = "0123456789abcdef0123456789abcdef"
LIMITS = Limits(max_bytes=10**9, most=1000, max_file_bytes=10**9)


def read(files: dict[str, bytes | str]) -> tuple[Contents, Report]:
    report = Report()
    if any(path.startswith(".obsidian") for path in files):
        report.skip(".obsidian/app.json", "program_folder")
    kept = {path: body.encode() if isinstance(body, str) else body for path, body in files.items()}
    return contents_of(Bundle({path: body for path, body in kept.items() if path[:9] != ".obsidian"}), report), report


def texts(found: Contents) -> dict[str, str]:
    """Text by title, with titles and names instead of ids."""
    names = {page.id: page.title for page in found.pages} | {file.id: file.name for file in found.files}
    return {
        page.title: re.sub(r"[0-9a-f-]{36}", lambda hit: names.get(hit[0], hit[0]), page.content)
        for page in found.pages
    }


def test_obsidian_embeds_aliases_anchors_and_callouts():
    found, report = read(
        {
            ".obsidian/app.json": "{}",
            "Home.md": "![[pier.png|The pier]]\n\n[[Low water#Spring tides|low]], [[Ebb]] and ![[plan.pdf]]\n\n"
            "> [!danger] Mind\n> the tide\n\n`[[code]]`",
            "Tides/Low water.md": "---\naliases:\n  - Ebb\n---\n\n# Spring tides\n",
            "Files/pier.png": picture(),
            "Files/plan.pdf": b"%PDF-1.7",
            "Board.canvas": "{}",
        }
    )
    assert (report.format, report.unresolved) == ("obsidian", [])
    home = texts(found)["Home"]
    assert f'<figure><img src="{FILE_PATH}pier.png/pier.png" alt="The pier"></figure>' in home
    assert f'<a href="{PAGE_PATH}Low water/#h-spring-tides" rel="noopener noreferrer">low</a>' in home
    assert f'<a href="{PAGE_PATH}Low water/" rel="noopener noreferrer">Ebb</a>' in home
    assert f'<a href="{FILE_PATH}plan.pdf/plan.pdf" rel="noopener noreferrer">plan.pdf</a>' in home
    assert '<blockquote data-callout="caution"><p><strong>Mind</strong></p><p>the tide</p></blockquote>' in home
    assert "<code>[[code]]</code>" in home
    assert {file.name for file in found.files} == {"pier.png", "plan.pdf", "Board.canvas"}


def test_notion_titles_lose_their_digits_and_databases_become_tables():
    found, report = read(
        {
            f"Harbour {ID}.md": f"# Harbour\n\n[Row](Ships%20{ID}/Ferry%20{ID}.md)\n\n<aside>\n💡 Note\n</aside>\n",
            f"Ships {ID}.csv": "Name,Length\nFerry,40\n",
            f"Ships {ID}/Ferry {ID}.md": "# Ferry\n\nText",
        }
    )
    shown = texts(found)
    assert (report.format, report.unresolved, report.converted) == ("notion", [], {"database": 1, "callout": 1})
    assert set(shown) == {"Harbour", "Ships", "Ferry"}
    assert f'href="{PAGE_PATH}Ferry/"' in shown["Harbour"]
    assert f'<td><a href="{PAGE_PATH}Ferry/" rel="noopener noreferrer">Ferry</a></td><td>40</td>' in shown["Ships"]
    assert shown["Ferry"] == "<p>Text</p>"
    assert 'data-callout="note"' in shown["Harbour"]


def test_rows_of_a_database_beyond_the_limit_are_listed():
    rows = "".join(f"Ship {number},40\n" for number in range(6000))
    found, report = read({f"Harbour {ID}.md": "Text", f"Ships {ID}.csv": f"Name,Length\n{rows}"})
    assert report.skipped == [(f"Ships {ID}.csv:5001-6001", "too_large")]
    assert texts(found)["Ships"].count("<tr>") == 5000


def test_bookstack_books_chapters_pictures_and_references():
    page = {"id": 5, "name": "Pier", "priority": 2, "html": '<p><a href="[[bsexport:page:6]]">x</a></p>'}
    other = {
        "id": 6, "name": "Light", "priority": 1, "html": '<p><img src="[[bsexport:image:9]]" alt="l"></p>',
        "images": [{"id": 9, "name": "light.png", "file": "abc"}],
    }  # fmt: skip
    book = {"id": 1, "name": "Harbour", "chapters": [{"id": 2, "name": "One", "pages": [page, other]}], "pages": []}
    found, report = read({"data.json": json.dumps({"book": book}), "files/abc": picture()})
    shown = texts(found)
    assert (report.format, report.unresolved) == ("bookstack", [])
    assert [item.title for item in found.pages] == ["Harbour", "One", "Light", "Pier"] or "Light" in shown
    assert f'href="{PAGE_PATH}Light/"' in shown["Pier"]
    assert f'src="{FILE_PATH}light.png/light.png"' in shown["Light"]


def test_docusaurus_docmost_outline_and_wikis():
    found, report = read(
        {
            "docs/_category_.json": '{"label": "Manual", "position": 1}',
            "docs/b.mdx": "---\nsidebar_position: 2\ntitle: Second\n---\nimport X from 'x'\n\n:::tip[Look]\nup\n:::\n",
            "docs/a.md": "---\nsidebar_position: 1\nslug: /first\n---\n[next](./b.mdx)",
        }
    )
    assert report.format == "docusaurus"
    assert [page.title for page in found.pages] == ["Manual", "a", "Second"]
    assert texts(found)["Second"].startswith('<blockquote data-callout="tip"><p><strong>Look</strong></p>')
    assert ("docs/_category_.json", "settings") in report.skipped
    found, report = read({"Home.md": "[[Words|High-Tide]]", "High-Tide.md": "x", "_Sidebar.md": "y"})
    assert (report.format, report.unresolved) == ("github wiki", [])
    assert f'href="{PAGE_PATH}High Tide/"' in texts(found)["Home"]
    found, report = read(
        {"docmost-metadata.json": "{}", "P.md": "# P\n\n![](files/1/a.png)", "files/1/a.png": picture()}
    )
    assert (report.format, report.unresolved, texts(found)["P"][:12]) == ("docmost", [], "<figure><img")
    found, report = read({"C/Doc.md": "# Doc\n\n![](uploads/1/a.png)", "C/uploads/1/a.png": picture()})
    assert (report.format, report.unresolved) == ("outline", [])


@pytest.mark.django_db
def test_html_and_word_become_pages(desk, tmp_path):
    html = "<html><head><title>Tide  table</title></head><body><nav>menu</nav><main><h1>T</h1>\n<p>a</p></main></body>"
    found, report = read({"x.html": html})
    assert (report.format, texts(found)) == ("html", {"Tide table": "<h1>T</h1><p>a</p>"})
    (tmp_path / "report.docx").write_bytes(word("High water at noon"))
    made = actions.import_file(desk.wanda, desk.space.pk, tmp_path / "report.docx", "report.docx")
    assert Page.objects.get(title="report", node_meta__node_type="file").content == "<p>High water at noon</p>"
    assert made.log.format == "docx"
    (tmp_path / "bad.docx").write_bytes(b"PK\x03\x04 no document")
    with pytest.raises(Wrong):
        actions.import_file(desk.wanda, desk.space.pk, tmp_path / "bad.docx", "bad.docx")


def word(text: str) -> bytes:
    out = io.BytesIO()
    space = "http://schemas.openxmlformats.org/"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{space}package/2006/content-types"><Default Extension="xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{space}package/2006/relationships"><Relationship Id="r" Target="word/document.xml" '
            f'Type="{space}officeDocument/2006/relationships/officeDocument"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{space}wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p>'
            "</w:body></w:document>",
        )
    return out.getvalue()


def vault(seed: int, count: int) -> dict[str, bytes]:
    """A vault with every feature: folders, equal and Chinese names, links, embeds, anchors, rings, front matter."""
    chance = random.Random(seed)
    folders = ["", "Harbour/", "Harbour/Deep/", "潮汐/", "Area/"]
    names = [f"{chance.choice(folders)}{chance.choice(['Page', '页面', 'Tide  table'])} {n // 2}" for n in range(count)]
    paths = sorted({f"{name}.md" for name in names})
    pictures = [f"{chance.choice(folders)}{chance.choice(['pic', '图'])} {n}.png" for n in range(max(3, count // 10))]
    made = {path: picture(8 + n % 60, 8 + n // 60) for n, path in enumerate(pictures)}
    made |= {"Area.md": b"# Area\n", "Area/Sub/Inner.md": b"[up](../../Area.md)", "Files/plan.pdf": b"%PDF-1.7 plan"}
    for path in paths:
        up = "../" * path.count("/")
        lines = ["---", "tags: [sea]", f"aliases: [Other {path}]", "---", "", f"# {path}", "", "Some *words*."]
        for other in chance.sample(paths, min(4, len(paths))):
            link = f"{up}{other}".replace(" ", "%20")
            lines.append(chance.choice([f"- [to]({link})", f"- [[{other[:-3]}]]", f"- [to]({link}#part)"]))
        shown = chance.choice(pictures)
        lines += ["", f"![[{shown}]]", "", f"![a]({up}{shown.replace(' ', '%20')})", "", f"[f]({up}Files/plan.pdf)"]
        made[path] = "\n".join([*lines, "", "- [ ] open", "- [x] done", "", "> [!tip]", "> Look", ""]).encode()
    return made


def tree(space: Space) -> dict[str, str]:
    """Text by path of titles, files by path with their digest; ids are replaced by these paths."""
    rows = {page.pk: page for page in Page.objects.filter(space=space, deleted_at=None).with_type()}

    def path(page: Page) -> str:
        above = rows.get(page.parent_page_id)
        return f"{path(above)}/{page.title}|{page.node_type}" if above else page.title

    names = {str(pk): path(page) for pk, page in rows.items()}
    files = Attachment.objects.filter(home__space=space)
    names |= {str(file.pk): f"{names[str(file.home_id)]}/{file.name}" for file in files}
    fronts = dict(PageSource.objects.filter(page__space=space).values_list("page_id", "front"))
    found = {
        names[str(pk)]: fronts.get(pk, "")
        + re.sub(
            r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            lambda hit: names.get(hit[0], hit[0]),
            without_ids(page.content),
        )
        for pk, page in rows.items()
    }
    return found | {names[str(file.pk)]: file.sha256 for file in files}


def round_trip(desk, tmp_path: Path, folder: Path) -> Report:
    report = bring(desk.space, folder)
    first = tree(desk.space)
    write_folder(desk.space, tmp_path / "out")
    again = actions.create_space(desk.olga, desk.workspace.pk, "Again")
    second = bring(again, tmp_path / "out")
    assert tree(again) == first
    assert len(second.unresolved) == len(report.unresolved)
    digests = lambda root: {  # noqa: E731 - used twice, here
        path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and path.suffix.lower() not in (".md", ".mdx", ".markdown", ".json")
    }
    top = tmp_path / "out" / "Vault"
    came = {name: digest for name, digest in digests(folder).items() if "/." not in f"/{name}"}
    assert digests(top if top.exists() else tmp_path / "out") == came, "the same files at the same paths"
    return report


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def test_hidden_files_are_listed_and_names_alone_never_mean_a_folder(tmp_path):
    text = '[[vault]] [[Vault/Notes]] [n](../../Vault)\n\n<iframe src="https://far.example/v" width="9"></iframe>\n'
    files = {"Vault/Notes/a.md": text, "Vault/.gitignore": "*", ".github/x.md": "no", "Vault/p.txt": "plan"}
    report = Report()
    bundle = read_folder(written(tmp_path, {name: text.encode() for name, text in files.items()}), report, LIMITS)
    found = contents_of(bundle, report)
    assert sorted(report.skipped) == [(".github/x.md", "program_folder"), ("Vault/.gitignore", "settings")]
    assert [file.name for file in found.files] == ["p.txt"]
    assert report.unresolved == [("Vault/Notes/a.md", "vault"), ("Vault/Notes/a.md", "Vault/Notes")]
    far = '<a href="https://far.example/v" rel="noopener noreferrer">https://far.example/v</a>'
    assert texts(found)["a"] == (
        f'<p>[[vault]] [[Vault/Notes]] <a href="{PAGE_PATH}Vault/" rel="noopener noreferrer">n</a></p><p>{far}</p>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "Wow! [a](https://e.org/a_b) and snake_case [1], [[name|other]], AT&T, a < b, #tag, a-b = c.",
        "Said[^1].\n\n[^1]: meaningful!\n\n[^big]: Here's one with words.",
        "- 3 | 4\n- ~80 %",
        "| a | `b \\| c` |\n| --- | --- |\n| 1 | x \\| y |",
        "Call [me](tel:+4912) or open [it](obsidian://open?vault=V).",
    ],
)
def test_plain_words_are_exported_without_escapes(text):
    assert to_markdown(to_html(text)) == text + "\n"


@pytest.mark.django_db
def test_vault_leaves_as_it_came(desk, tmp_path):
    files = vault(1, 24)
    report = round_trip(desk, tmp_path, written(tmp_path / "in", files))
    assert report.unresolved == []
    out = {path.relative_to(tmp_path / "out/Vault").as_posix() for path in (tmp_path / "out/Vault").rglob("*.md")}
    assert out == {name for name in files if name.endswith(".md")}, "every page under the name it came with"
    for file in (tmp_path / "out").rglob("*.md"):
        for target in re.findall(r"\]\(<?([^)#>]+)", file.read_text()):
            assert (file.parent / re.sub("%20", " ", target)).exists() or "%" in target, (file, target)
    assert AttachmentUse.objects.exists()
    assert blobs.exists(Attachment.objects.first().sha256)


@pytest.mark.nightly
@pytest.mark.django_db
def test_vault_of_three_thousand_files_leaves_as_it_came(desk, tmp_path, monkeypatch):
    monkeypatch.setenv("LIBRARY_IMPORT_PAGES", "20000")
    assert round_trip(desk, tmp_path, written(tmp_path / "in", vault(2, 3000))).unresolved == []


@pytest.mark.skipif("LIBRARY_TEST_VAULT" not in os.environ, reason="set LIBRARY_TEST_VAULT to the folder of a vault")
@pytest.mark.django_db
def test_real_vault_leaves_as_it_came(desk, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LIBRARY_IMPORT_PAGES", "100000")
    monkeypatch.setenv("LIBRARY_IMPORT_MEGABYTES", "2000")
    folder = Path(os.environ["LIBRARY_TEST_VAULT"])
    report = round_trip(desk, tmp_path, folder)
    top = tmp_path / "out" / "Vault"
    with capsys.disabled():
        count = Page.objects.filter(space=desk.space).count()
        print(f"\n  {count} pages and folders, {report.format}, {report.converted}")
        print(
            f"  {report.links} links, {len(report.unresolved)} without a target, {len(report.skipped)} files left out"
        )
        print("\n".join(compared(folder, top if top.exists() else tmp_path / "out")))


def words_in(text: str) -> Counter[str]:
    """Words that a reader reads: without signs of Markdown, numbers of lists, addresses, tags and pictures."""
    text = re.sub(r"!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)|<[^>]*>|^[ \t>]*\d+[.)] ", " ", text, flags=re.MULTILINE)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|\[([^\]]*)\]\([^)]*\)", r" \1\2 ", text)
    return Counter(re.findall(r"[^\W_]+", text))


def compared(folder: Path, out: Path) -> Iterator[str]:
    """Yield which files of the vault have lost words or are missing, and how many are the same byte by byte."""
    same = total = 0
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder)
        if any(step.startswith(".") for step in name.parts):
            continue
        total += 1
        if not (out / name).exists():
            yield f"  missing: {name}"
            continue
        came, left = path.read_text(errors="replace"), (out / name).read_text()
        same += came == left
        if lost := words_in(came) - words_in(left):
            yield f"  {name}: {dict(lost)}"
    yield f"  {total} Markdown files, {same} the same byte by byte"


@pytest.mark.django_db
def test_page_and_folder_are_exported_alone_and_as_one_html_file(desk, tmp_path):
    folder = desk.folder("Harbour")
    kept = actions.upload(desk.wanda, folder.pk, [picture()], "pier.png")
    page = desk.file("Pier", folder, f'<figure><img src="{FILE_PATH}{kept.pk}/pier.png" alt="x"></figure>')
    desk.file("Other", page, f'<p><a href="{PAGE_PATH}{page.pk}/">up</a> too</p>')
    file, name = actions.export_page(desk.rene, page.pk)
    with file, zipfile.ZipFile(file) as archive:
        assert set(archive.namelist()) == {"Pier.md", "Pier/", "Pier/Other.md", "Pier/pier.png", "watchbook.json"}
        assert archive.read("Pier/pier.png") == picture()
        assert "![x](Pier/pier.png)" in archive.read("Pier.md").decode()
        assert "(../Pier.md)" in archive.read("Pier/Other.md").decode()
    assert name.startswith("pier-")
    file, name = actions.export_page(desk.rene, folder.pk, "html")
    with file:
        text = file.read().decode()
    assert name.endswith(".html")
    assert f'href="#p-{page.pk}"' in text
    assert "data:image/png;base64," in text
    assert "<script" not in text
    assert "/library/" not in text
    with pytest.raises(Wrong):
        actions.export_page(desk.rene, folder.pk, "exe")
