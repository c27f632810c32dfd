"""EPUB books: valid for epubcheck and for a reader of their structure, whatever the HTML of a chapter was."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from watchbook.base.testing import pages as books
from watchbook.kit import epub

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KEPT, OTHER, UNKNOWN = "https://example.org/a.png", "https://example.org/b.webp", "https://example.org/c.png"
HARD = f"""<p>x<b>bold<blockquote>q <a href="/inner">in</a> <a href="https://例.org/">e</a></blockquote></b></p>
<a href="https://example.org/你?q=[1]&z=100%#a#b">web</a><a href="javascript:alert(1)">no</a>
<ul>loose<li>one</li>tail<b>b</b></ul><li>alone</li><ul></ul><ol start="0"><p>x</p></ol>
<details>text<summary>a<b>b</b></summary>z<summary>2</summary></details><summary>s</summary><details></details>
<a href="#f1">here</a><a href="#none">n</a><div id="f1">1</div><div id="f1">2</div><div id="1 2">3</div>
<img src="{KEPT}"><img src="{KEPT}" alt="A"><img src="{OTHER}" alt="B"><img src="{UNKNOWN}"><img>
<table><tr><td colspan="0">a</td><td rowspan="2">b<ul><li>x</li></ul></td></tr></table>
<h4>h<table><tr><td>x</td></tr></table></h4><a href="https://example.org"><div>block link</div></a>
<span lang="zh">你</span><script>alert(1)</script><style>p{{}}</style><td>x</td><pre>a<div>b</div></pre>\x0b\x00
<sub><h2>x</h2></sub><iframe src="https://example.org"></iframe><video src="https://example.org/v"></video>"""


def book(chapters: Iterable[epub.Chapter], **more: str) -> epub.Book:
    return epub.Book(
        title=more.get("title", "A & B <你好>"),
        language="zh-Hans",
        identifier="https://example.org/1",
        modified=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        chapters=chapters,
        pictures={KEPT: epub.Picture("image/png", lambda: PNG), OTHER: epub.Picture("image/webp", lambda: b"RIFF")},
        author="某某",
        source="https://example.org/1?a=1&b=2",
    )


def save(made: epub.Book, path: Path) -> epub.Written:
    with path.open("wb") as file:
        return epub.write(made, file)


@pytest.fixture
def hard(tmp_path: Path) -> tuple[Path, epub.Written]:
    chapters = [
        epub.Chapter("一", HARD),
        epub.Chapter("below", f'<a href="{epub.chapter_file(1, "f1")}">up</a>', depth=2),
        epub.Chapter("too deep", "<p></p>", depth=9),
        epub.Chapter("", ""),
    ]
    path = tmp_path / "hard.epub"
    return path, save(book(chapters), path)


def test_epubcheck_accepts_a_book_of_hard_html(hard: tuple[Path, epub.Written]) -> None:
    books.epubcheck(hard[0])


def test_book_has_its_chapters_links_and_pictures_and_names_what_it_leaves_out(
    hard: tuple[Path, epub.Written],
) -> None:
    path, written = hard
    pages = books.read(path)
    assert list(pages) == [*(epub.chapter_file(number) for number in (1, 2, 3, 4)), "nav.xhtml"]
    assert (written.chapters, written.pictures, written.left_out) == (4, 1, [OTHER, UNKNOWN])
    first = pages[epub.chapter_file(1)]
    links = {link.get("href") for link in first.iter(f"{books.XHTML}a")}
    assert links == {"#f1", "https://example.org/%E4%BD%A0?q=%5B1%5D&z=100%25#a%23b"}
    assert not [each for each in first.iter() if each.tag.rpartition("}")[2] in {"script", "style", "iframe", "video"}]
    words = "".join(first.itertext())
    assert all(part in words for part in ("loose", "tail", "alone", "block link", "[B]"))
    contents = pages["nav.xhtml"].findall(f".//{books.XHTML}a")
    assert [(link.text, len(list(link.iterancestors(f"{books.XHTML}ol")))) for link in contents] == [
        ("一", 1),
        ("below", 2),
        ("too deep", 3),
        ("…", 1),
    ]


def test_same_book_has_the_same_bytes_and_a_book_without_chapters_is_refused() -> None:
    digests = set()
    for _again in range(2):
        file = BytesIO()
        epub.write(book([epub.Chapter("一", HARD)]), file)
        digests.add(hashlib.sha256(file.getvalue()).hexdigest())
    assert len(digests) == 1
    with pytest.raises(ValueError, match="needs a chapter"):
        epub.write(book([]), BytesIO())


def test_random_html_gives_well_formed_books(tmp_path: Path) -> None:
    rng = random.Random(7)
    known = "a b p div ul ol li table tr td blockquote details summary h4 pre img span del br x:y em"
    names = known.split()

    def piece() -> str:
        name = rng.choice(names)
        mark = rng.choice(["", f' id="f{rng.randrange(5)}"', f' href="#f{rng.randrange(5)}"', f' src="{KEPT}"'])
        return rng.choice([f"<{name}{mark}>", f"</{name}>", "字 &amp; &lt;", "]]>", "<!-- x -->"])

    chapters = [epub.Chapter(str(number), "".join(piece() for _ in range(60))) for number in range(100)]
    path = tmp_path / "random.epub"
    save(book(chapters), path)
    assert len(books.read(path)) == 101
