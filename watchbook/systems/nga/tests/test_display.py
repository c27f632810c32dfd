"""How texts and titles of the forum are shown: prefixes, smilies, struck text, tables, addresses, view counts."""

from __future__ import annotations

import pytest

from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice
from watchbook.systems.nga.models import Thread
from watchbook.systems.nga.parse.bbcode import render
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.topic import attachments
from watchbook.systems.nga.store.media import files_in
from watchbook.systems.nga.tests.desk import browser, get, make_thread
from watchbook.systems.nga.views.page_header import own_title, title_prefixes
from watchbook.systems.nga.views.posts import shown_html

__all__ = ["alice"]


@pytest.mark.parametrize(
    ("title", "prefixes", "rest"),
    [
        ("[水]盖楼", ["水"], "盖楼"),
        ("[水] [求助]盖楼 [图]", ["水", "求助"], "盖楼 [图]"),
        ("盖楼[水]", [], "盖楼[水]"),
        ("[水]", [], "[水]"),
    ],
)
def test_all_prefixes_at_the_beginning_are_tags(title, prefixes, rest):
    assert title_prefixes(title) == prefixes
    assert own_title(Thread(title=title)) == rest


def test_prefix_is_shown_in_brackets(db, alice):
    make_thread(0, title="[水][求助]盖楼", prefix="水")
    page = squeezed(get(browser(alice), "topics").content.decode())
    assert ">[水]</a>" in page
    assert ">[求助]</a>" in page
    assert ">盖楼</a>" in page


def test_smiley_is_a_mark_with_its_name():
    shown = shown_html(render("[s:ac:哭笑][s:ac:blink]"))
    assert '<span class="bb-mark" role="img" aria-label="哭笑" title="[s:ac:哭笑]">😂</span>' in shown
    assert 'aria-label="blink"' in shown


def test_smiley_without_a_mark_shows_its_name():
    assert ">poi</span>" in shown_html(render("[s:a2:poi]"))


def test_struck_text_is_not_a_removed_word():
    shown = shown_html(render("[del]旧话[/del]"))
    assert '<s class="bb-struck">旧话</s>' in shown
    assert "<del" not in shown


def test_wide_table_scrolls_on_its_own():
    shown = shown_html(render("[table][tr][td]一[/td][/tr][/table]"))
    assert shown.startswith('<div class="bb-scroll" tabindex="0"><table>')
    assert shown.endswith("</table></div>")


@pytest.mark.parametrize("given", ["//img.example/a.jpg", "https://img.example/a.jpg"])
def test_picture_with_an_address_of_its_own_is_kept(given):
    assert files_in(render(f"[img]{given}[/img]")) == [("https://img.example/a.jpg", "picture")]
    (file,) = attachments([{"attachurl": given, "type": "img"}], Addresses())
    assert file.url == "https://img.example/a.jpg"


def test_picture_with_a_path_of_the_site_is_kept():
    assert files_in(render("[img]/attachments/a.jpg[/img]")) == [("https://bbs.nga.cn/attachments/a.jpg", "picture")]
