"""Texts: two writers, history, cleaning, search, stream, clips."""

from __future__ import annotations

import pytest
from django.utils import translation

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import actions
from watchbook.systems.library.errors import NotFound, VersionConflict, Wrong
from watchbook.systems.library.models import Page, PageOrigin, PageVersion
from watchbook.systems.library.parse.html import clean, to_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(desk):
    return desk.file("Page", desk.folder("Home"), "<p>first</p>")


def seen(person, words: str) -> list[str]:
    return [hit.title for hit in find(words, scopes=viewer_scopes(person)).items]


def test_second_writer_sees_both_texts_and_the_common_one(desk, page):
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>hers</p>")
    with pytest.raises(VersionConflict) as refused:
        actions.save_page(desk.sven, page.pk, version=1, content="<p>his</p>", title="His")
    details = refused.value.details
    assert details["current"]["content"] == "<p>hers</p>"
    assert details["current"]["updated_by"] == "wanda@example.com"
    assert details["yours"] == {"version": 1, "title": "His", "content": "<p>his</p>"}
    assert details["base"]["content"] == "<p>first</p>"
    assert actions.open_page(desk.rene, page.pk).content == "<p>hers</p>"
    actions.save_page(desk.sven, page.pk, version=2, content="<p>hers and his</p>")


def test_every_save_is_a_version_and_any_can_come_back(desk, page):
    for n, text in enumerate(("<p>two</p>", "<p>three</p>"), start=1):
        actions.save_page(desk.wanda, page.pk, version=n, content=text)
    assert not _changes(desk, page, "<p>three</p>"), "nothing new is no version"
    actions.restore_version(desk.sven, page.pk, 1)
    kept = list(actions.list_versions(desk.rene, page.pk))
    assert [(one.number, one.reason, one.author.email.split("@")[0]) for one in kept] == [
        (4, "restored", "sven"),
        (3, "saved", "wanda"),
        (2, "saved", "wanda"),
        (1, "created", "wanda"),
    ]
    assert actions.open_page(desk.rene, page.pk).content == "<p>first</p>"
    diff = actions.compare_versions(desk.rene, page.pk, 2, 3)
    assert (diff.added, diff.removed) == (len("three"), len("two"))


def _changes(desk, page, text: str) -> bool:
    before = PageVersion.objects.count()
    actions.save_page(desk.wanda, page.pk, version=3, content=text)
    return PageVersion.objects.count() != before


def test_page_from_before_the_history_keeps_its_first_text(desk, page):
    PageVersion.objects.all().delete()
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>new</p>")
    assert list(PageVersion.objects.order_by("number").values_list("content", flat=True)) == [
        "<p>first</p>",
        "<p>new</p>",
    ]


def test_folder_has_no_text(desk):
    folder = desk.folder("Home")
    with pytest.raises(Wrong):
        actions.save_page(desk.wanda, folder.pk, version=1, content="<p>x</p>")
    assert actions.save_page(desk.wanda, folder.pk, version=1, title="Renamed").version == 2


@pytest.mark.parametrize(
    ("hostile", "left"),
    [
        ("<p onclick=x()>a</p>", "<p>a</p>"),
        ("<script>alert(1)</script><p>a</p>", "<p>a</p>"),
        ('<a href="javascript:alert(1)">a</a>', '<a rel="noopener noreferrer">a</a>'),
        ('<img src="data:text/html,x" onerror=alert(1)>', "<img>"),
        ("<style>*{}</style><iframe src=//x></iframe>a", "a"),
        ("<svg><script>1</script></svg>b", "b"),
        ('<code class="language-py evil">x</code>', "<code>x</code>"),
        ("a\x00b", "ab"),
    ],
)
def test_only_harmless_markup_is_kept(hostile, left):
    assert clean(hostile) == left
    assert clean(clean(hostile)) == clean(hostile)


def test_text_that_would_block_the_server_is_refused(desk):
    home = desk.folder("Home")
    for hostile in ("<blockquote>" * 150_000, "<b title=1>" * 1000, "<p>" + "x" * 3_000_000):
        with pytest.raises(Wrong):
            desk.file("Page", home, hostile)
    assert clean("<p>a<p>b" * 5000).count("<p>") == 10_000, "a missing end tag is not a level"
    assert clean("<p><b title=1>a</p>" * 2) == "<p><b>a</b></p>" * 2, "an element ends with its paragraph"


def test_words_of_a_text():
    assert (
        to_text("<h1>Title</h1><ul><li>one</li><li>two</li></ul><p>a<br>b &amp; c</p>") == "Title\none\ntwo\na\nb & c"
    )


def test_found_by_members_only_as_long_as_it_is_there(desk, page):
    actions.save_page(desk.wanda, page.pk, version=1, title="潮汐表", content="<p>高潮时间 harbour</p>")
    for words in ("潮汐", "高潮", "harbour"):
        assert seen(desk.rene, words) == ["潮汐表"]
        assert seen(desk.adam, words) == ["潮汐表"]
        assert seen(desk.otto, words) == seen(desk.xaver, words) == []
    actions.trash_page(desk.wanda, page.pk)
    assert seen(desk.rene, "harbour") == []
    actions.restore_page(desk.wanda, page.pk)
    assert seen(desk.rene, "harbour") == ["潮汐表"]
    other = actions.create_space(desk.olga, desk.workspace.pk, "Other")
    target = actions.create_page(desk.olga, other.pk, title="There", node_type="folder")
    actions.move_page(desk.olga, page.pk, parent_page_id=target.pk, space_id=other.pk)
    assert seen(desk.rene, "harbour") == []
    assert seen(desk.olga, "harbour") == ["潮汐表"]


def test_saves_of_a_day_are_one_entry_of_the_activity(desk, page, noon):
    for version in (1, 2, 3):
        actions.save_page(desk.wanda, page.pk, version=version, content=f"<p>{version}</p>")
    assert StreamEntry.objects.filter(source="library", event_key__startswith="20260302").count() == 1


def test_favourites_are_ones_own(desk, page):
    actions.set_favourite(desk.rene, page.pk, kept=True)
    actions.set_favourite(desk.rene, page.pk, kept=True)
    assert [one.pk for one in actions.list_favourites(desk.rene)] == [page.pk]
    assert actions.list_favourites(desk.wanda) == []
    actions.remove_space_member(desk.olga, desk.space.pk, person=desk.rene)
    assert actions.list_favourites(desk.rene) == []


def test_clip_says_where_it_is_from(desk, clips):
    made = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert made.title == "High water"
    assert "script" not in made.content
    assert "https://example.org/tide/1" in made.content
    assert [crumb.title for crumb in actions.breadcrumb(desk.rene, made.pk)] == ["Clips", "High water"]
    again = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert again.parent_page_id == made.parent_page_id, "the next one goes into the same folder"
    with translation.override("zh-hans"):
        theirs = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert theirs.parent_page_id == made.parent_page_id, "in whichever language its reader works"
    origin = PageOrigin.objects.get(page=made)
    assert (origin.source, origin.kind, origin.object_id, origin.version) == ("tides", "library_test", "1", "7")
    with pytest.raises(NotFound):
        actions.clip(desk.wanda, kind="library_test", object_id="2", space_id=desk.space.pk)


def test_folder_of_clips_with_a_chinese_name_is_known_to_everybody(desk, clips):
    with translation.override("zh-hans"):
        made = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert actions.breadcrumb(desk.rene, made.pk)[0].title == "剪藏"
    again = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    assert again.parent_page_id == made.parent_page_id


def test_spaces_inside_a_title_are_kept_and_line_breaks_become_spaces(desk):
    page = desk.file("Two  spaces\nand a line", desk.folder("Home"))
    assert Page.objects.get(pk=page.pk).title == "Two  spaces and a line"
