"""Hostile texts: cleaned in time that grows with their length, within limits, and before any lock is taken."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest

from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.growth import MOST_RATIO, growth
from watchbook.systems.library import actions, store
from watchbook.systems.library.errors import VersionConflict, Wrong
from watchbook.systems.library.models import Page, PageVersion
from watchbook.systems.library.options import PAGE_KILOBYTES
from watchbook.systems.library.parse import html
from watchbook.systems.library.parse.html import MOST_TAGS, clean, to_text
from watchbook.systems.library.store import pages

# The nightly run reads texts at the size limit.
LONGEST = PAGE_KILOBYTES.value * 1024 - 10_000 if NIGHTLY else 250_000


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def in_one_tag(size: int) -> str:
    return "<p " + " ".join(f"a{number}=1" for number in range(size // 10)) + ">x</p>"


# Each was tried against the cleaner; the first took 41 seconds at 1.9 MB.
HOSTILE: dict[str, Callable[[int], str]] = {
    "attributes": in_one_tag,
    "attributes that hold >": lambda size: "<p " + repeated('b=">" ')(size) + ">",
    "equal signs": lambda size: "<p " + "=" * size + ">",
    "depth": repeated("<b>"),
    "depth with wrong end tags": repeated("<blockquote></i>"),
    "unclosed paragraphs": repeated("<p>x"),
    "unclosed list items": lambda size: "<ul>" + repeated("<li>x")(size),
    "unclosed cells": lambda size: "<table><tr>" + repeated("<td>x")(size),
    "tables": repeated("<table>"),
    "text between rows": lambda size: "<table>" + repeated("<b>x</b>")(size),
    "text in tables": repeated("<table>x</table>"),
    "formatting that is opened again": lambda size: (
        "<p>" + "".join(f'<code class="language-{n}">' for n in range(190)) + "</p>" + repeated("<p>x</p>")(size)
    ),
    "links in links": repeated("<a href=x>y"),
    "entities": repeated("&amp;"),
    "ampersands": repeated("&"),
    "comments": repeated("<!-- x -->"),
    "open comments": repeated("<!--"),
    "signs": repeated("<"),
    "open tags": repeated("<a "),
    "open quotes": repeated('<a b="'),
    "end tags": repeated("</b>"),
    "scripts": repeated("<script>"),
    "closed scripts": repeated("<script></script>"),
    "hidden from scanners": repeated("<select><xmp></select>"),
    "foreign elements": repeated("<svg><p>"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_time_linear_in_its_length(name, capsys):
    long, ratio = growth(lambda text: to_text(clean(text)), HOSTILE[name], LONGEST)
    with capsys.disabled():
        print(f"\n  {name}: {long:.3f} s for {LONGEST // 1000} kB, {ratio:.0f} times a sixteenth of it", end="")
    assert ratio <= MOST_RATIO


def test_text_beyond_the_limits_is_refused_by_name(desk):
    home = desk.folder("Home")
    for text in (in_one_tag(100_000), "<b>" * 300, "<hr>" * (MOST_TAGS + 1)):
        with pytest.raises(Wrong) as refused:
            desk.file("Hostile", home, text)
        assert (refused.value.field, refused.value.code) == ("content", "too_complex")


def test_large_table_is_within_the_limits():
    row = "<tr>" + "<td>x</td>" * 15 + "</tr>"
    table = f"<table><tbody>{row * 10_000}</tbody></table>"
    assert clean(table) == table


def test_every_text_is_cleaned_before_the_space_is_locked(desk, clips, tmp_path, monkeypatch):
    """While a space is locked, other writers wait: cleaning and reading take their time before."""
    home = desk.folder("Home")
    page = desk.file("Page", home, "<p>one</p>")
    held: list[bool] = []
    real_take = store.take
    monkeypatch.setattr(store, "take", lambda *args, **given: (held.append(True), real_take(*args, **given))[1])
    cleaned: list[str] = []

    def watched(name: str, function: Callable[[str], str]) -> Callable[[str], str]:
        def call(text: str) -> str:
            assert not held, f"{name} was called while the space was locked"
            cleaned.append(text)
            return function(text)

        return call

    for name in ("clean", "to_text"):
        monkeypatch.setattr(pages, name, watched(name, getattr(html, name)))
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("one.md", "# imported")
    (tmp_path / "a.zip").write_bytes(archive.getvalue())
    wanda, space = desk.wanda, desk.space.pk
    writes: list[Callable[[], object]] = [
        lambda: actions.create_page(wanda, space, title="New", parent_page_id=home.pk, content="<p>new</p>"),
        lambda: actions.save_page(wanda, page.pk, version=1, content="<p>two</p>"),
        lambda: actions.import_file(wanda, space, tmp_path / "a.zip", "a.zip"),
        lambda: actions.clip(wanda, kind="library_test", object_id="1", space_id=space),
    ]
    for write in writes:
        held.clear()
        count = len(cleaned)
        write()
        assert held, "the space was locked"
        assert len(cleaned) > count, "the text was cleaned"
    assert PageVersion.objects.filter(page=page).count() == 2
    with pytest.raises(VersionConflict):
        held.clear()
        actions.save_page(wanda, page.pk, version=1, content="<p>three</p>")
    assert Page.objects.get(pk=page.pk).content == "<p>two</p>"
