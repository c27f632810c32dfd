"""Markdown in and out: the same tree both ways, and hostile archives are refused whole."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from hashlib import sha256

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.core.accounts.models import AuditEvent
from watchbook.systems.library import actions
from watchbook.systems.library.cli import group
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import Page
from watchbook.systems.library.parse.archive import contents_of, one_line
from watchbook.systems.library.parse.bundle import Bundle, Report
from watchbook.systems.library.parse.front import split_front, with_front
from watchbook.systems.library.parse.html import clean
from watchbook.systems.library.parse.markdown import to_html, to_markdown


def zipped(**files: bytes | str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return made.getvalue()


def bring(desk, tmp_path, body: bytes, name: str = "notes.zip", **where):
    path = tmp_path / "upload"
    path.write_bytes(body)
    return actions.import_file(desk.wanda, desk.space.pk, path, name, **where).pages


def tree(space, parent=None) -> list:
    """Title, type, text, pin and children of a whole space, in the order people see."""
    rows = Page.objects.below(space.pk, parent).with_type().in_order()
    return [(p.title, p.node_type, p.content, p.is_pinned, tree(space, p.pk)) for p in rows]


@pytest.mark.django_db
def test_export_and_import_give_the_same_tree(desk, tmp_path):
    home = desk.folder("Home: a/b?")
    desk.folder("Empty", home)
    page = desk.file("Same", home, "<h2>题</h2><ul><li><p>a</p></li></ul><pre><code>x\n\ny</code></pre>")
    desk.folder("Same", home)
    desk.file("same", home, "loose words <b>bold</b>")
    child = desk.file("Child", page, '<table><tbody><tr><td colspan="2"><p>x</p></td></tr></tbody></table>')
    desk.file("Grandchild", child, "<p>a</p>\n<p>b</p>")
    desk.file("watchbook", home, "<p>1. not a list</p>")
    desk.file("第二", home, '<p>See <a href="https://example.org/?a=1&amp;b=2">this</a></p>')
    actions.pin_page(desk.wanda, page.pk, pinned=True)
    target = tmp_path / "out.zip"
    file, _name = actions.export_space(desk.rene, desk.space.pk)
    with file:
        target.write_bytes(file.read())
    told = AuditEvent.objects.filter(event="library.exported")
    assert [(row.actor_id, row.subject) for row in told] == [(desk.rene.pk, str(desk.space.pk))]
    other = actions.create_space(desk.olga, desk.workspace.pk, "Copy")
    actions.import_file(desk.olga, other.pk, target, "out.zip")
    assert tree(other) == tree(desk.space)
    folder = tmp_path / "folder"
    assert CliRunner().invoke(group, ["export", str(desk.space.pk), str(folder)]).exit_code == 0
    third = actions.create_space(desk.olga, desk.workspace.pk, "Third")
    result = CliRunner().invoke(group, ["import", str(folder), str(third.pk), "--json"])
    assert result.exit_code == 0, result.output
    assert tree(third) == tree(desk.space)


@pytest.mark.django_db
def test_files_for_the_top_level_get_a_folder_around_them(desk, tmp_path):
    made = bring(desk, tmp_path, zipped(**{"a.md": "one", "deep/b.md": "two", "picture.png": b"x"}))
    deep = ("deep", "folder", "", False, [("b", "file", "<p>two</p>", False, [])])
    inside = [("a", "file", "<p>one</p>", False, []), deep]
    assert tree(desk.space) == [("notes", "folder", "", False, inside)]
    assert len(made) == 4
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    made = bring(desk, tmp_path, b"# Hello\n", "single.md")
    assert made[0].parent_page_id is None


@pytest.mark.django_db
def test_below_a_file_there_are_only_files(desk, tmp_path):
    bring(desk, tmp_path, zipped(**{"top/x.md": "x", "top/x/y.md": "y", "top/z.md": "z", "top/z/dir/w.md": "w"}))
    top = tree(desk.space)[0]
    kinds = {(title, kind): [child[:2] for child in below] for title, kind, _c, _p, below in top[4]}
    assert kinds == {("x", "file"): [("y", "file")], ("z", "file"): [], ("z", "folder"): [("dir", "folder")]}


def link_inside() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        entry = zipfile.ZipInfo("link.md")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return made.getvalue()


HOSTILE = {
    "outside": (zipped(**{"../../x.md": "x"}), "unsafe"),
    "absolute": (zipped(**{"/etc/x.md": "x"}), "unsafe"),
    "drive": (zipped(**{"C:\\x.md": "x"}), "unsafe"),
    "dots": (zipped(**{"a/../../x.md": "x"}), "unsafe"),
    "link": (link_inside(), "unsafe"),
    "bomb": (zipped(**{"x.md": b"0" * 3_000_000}), "too_large"),
    "bombs": (zipped(**{f"{n}.md": b"0" * 300_000 for n in range(9)}), "too_large"),
    "crowd": (zipped(**{f"{n}.md": "x" for n in range(60)}), "too_many"),
    "deep": (zipped(**{"/".join(["d"] * 40) + "/x.md": "x"}), "too_deep"),
    "no zip": (b"PK\x03\x04 broken", "not_readable"),
    "nested": (zipped(**{"x.md": "<div><blockquote>" * 5000}), "too_complex"),
    "empty": (zipped(), "nothing_inside"),
    "pictures": (zipped(**{"x.png": b"x"}), "nothing_inside"),
    "cut": (zipped(**{"x.md": "words " * 1000})[:-40], "not_readable"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_whole(desk, tmp_path, monkeypatch, name):
    monkeypatch.setenv("LIBRARY_IMPORT_MEGABYTES", "2")
    monkeypatch.setenv("LIBRARY_IMPORT_PAGES", "50")
    body, code = HOSTILE[name]
    with pytest.raises(Wrong) as refused:
        bring(desk, tmp_path, body)
    assert refused.value.code == code
    assert Page.objects.count() == 0


@pytest.mark.django_db
def test_markup_in_markdown_is_cleaned(desk, tmp_path):
    made = bring(desk, tmp_path, b"<script>alert(1)</script>\n\n[x](javascript:alert(1)) <b onclick=1>b</b>", "x.md")
    assert made[-1].content == "<p>[x](javascript:alert(1)) <b>b</b></p>", "an address that acts is only words"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
INLINE = st.recursive(
    WORDS.map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    lambda inner: st.tuples(st.sampled_from(["strong", "em", "s", "u", "code", "b", "sub"]), inner).map(
        lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"
    ),
    max_leaves=4,
)


def holder(pair: tuple[str, list[str]]) -> str:
    tag, blocks = pair
    inner = "".join(blocks if tag == "blockquote" else [f"<li>{block}</li>" for block in blocks])
    return f"<{tag}>{inner}</{tag}>"


BLOCK = st.recursive(
    st.tuples(st.sampled_from(["p", "h1", "h3", "pre", "li"]), st.lists(INLINE, max_size=3).map("".join)).map(
        lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"
    ),
    lambda inner: st.tuples(st.sampled_from(["ul", "ol", "blockquote"]), st.lists(inner, max_size=3)).map(
        lambda pair: (
            f"<{pair[0]}>{''.join(f'<li>{b}</li>' if pair[0] != 'blockquote' else b for b in pair[1])}</{pair[0]}>"
        )
    ),
    max_leaves=5,
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BLOCK | INLINE, max_size=4).map("".join), WORDS)
@example("<p>a</p><!-- --><ul><li>b</li></ul>", "x")
def test_any_text_comes_back_through_a_file_as_it_was(html, title):
    """What Markdown cannot say is in the manifest; the export decides by trying."""
    content = clean(html)
    markdown = to_markdown(content)
    body = with_front(title, markdown).encode()
    said = {"path": "x.md"}
    if to_html(markdown) != content:
        said |= {"sha256": sha256(body).hexdigest(), "content": content}
    manifest = json.dumps({"format": 1, "pages": [said]}).encode()
    page = contents_of(Bundle({"x.md": body, "watchbook.json": manifest}), Report()).pages[0]
    assert page.content == content
    assert page.title == (one_line(title) or "x")


@given(st.text(min_size=1, max_size=200), st.text(max_size=200))
def test_head_of_a_file_is_read_as_it_was_written(title, text):
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    said, rest = split_front(with_front(title, text))
    assert said["title"] == title
    assert rest == text
