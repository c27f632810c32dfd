"""Topics: floors, notes under posts, anonymous authors, edits, hidden and deleted posts, polls, attachments."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import LayoutChanged, floors_of_page
from watchbook.systems.nga.parse.answer import read_topic
from watchbook.systems.nga.parse.tests.answers import NOON, TOKEN, TOKEN_NAME, body, post, stub, topic_document


def read(*posts, **options):
    return read_topic(body(topic_document(*posts, **options)))


def numbers(page):
    return [floor.floor_number for floor in page.floors]


def test_floors_become_records():
    page = read(post(0, "开头"), post(1, "[b]回复[/b]", reply_to=0), topic={"digest": 1, "type": 33554432 | 32})
    assert (page.tid, page.fid, page.title, page.total_floors, page.page_number) == (500, 7, "[讨论]标题", 2, 1)
    assert (page.is_digest, page.is_locked, page.type_bits, page.title_prefixes) == (True, False, 32, ("讨论",))
    first, second = page.floors
    assert (first.source_post_id, second.source_post_id) == (0, 7001)
    assert (second.author_name, second.author_source_user_id) == ("测试员", 4001)
    assert second.post_created_at.timestamp() == NOON + 60
    assert second.content_html == "<b>回复</b>"
    assert page.is_complete(1)
    assert not page.is_complete(2)


def test_posts_are_divided_by_number_so_gaps_are_exact():
    page = read(*(post(n) for n in range(20) if n != 7), __ROWS=20)
    assert page.missing_numbers() == (7,)
    assert page.is_complete(1)
    page = read(post(0), post(6), __ROWS=8)
    assert page.missing_numbers() == (1, 2, 3, 4, 5, 7)


def test_later_pages_hold_their_own_numbers():
    page = read(*(post(n) for n in range(20, 25)), __PAGE=2, __ROWS=25)
    assert page.is_complete(2)
    assert page.missing_numbers() == ()
    assert not read(*(post(n) for n in range(20, 25)), __PAGE=1, __ROWS=25).is_complete(1)


@pytest.mark.parametrize("counted", [3, "3"])
def test_page_with_fewer_rows_than_it_says_is_not_whole(counted):
    assert not read(post(0), post(1), __R__ROWS=counted).is_complete(1)


def test_comment_is_a_post_with_the_text_from_under_its_post():
    note = post(2, "贴条内容", type=1, authorid=4002, alterinfo="[E1782532900 0 0]\t")
    page = read(post(0), post(1, comment_id=",7002", comment={"0": note}), stub(2, 7001), post(3))
    assert numbers(page) == [0, 1, 2, 3]
    assert (page.stubs, page.notes_elsewhere) == ((), ())
    found = page.floors[2]
    assert (found.source_post_id, found.parent_post_id, found.is_note) == (7002, 7001, True)
    assert (found.content_html, found.author_name) == ("贴条内容", "123456")
    assert found.post_created_at.timestamp() == NOON + 120
    assert page.is_complete(1)
    assert page.missing_numbers() == ()


def test_comment_of_a_post_on_another_page_is_a_stub():
    page = read(post(0), stub(1, 6500))
    assert numbers(page) == [0]
    assert [(one.floor_number, one.source_post_id, one.parent_post_id) for one in page.stubs] == [(1, 7001, 6500)]
    assert page.missing_numbers() == ()
    assert page.is_complete(1)


def test_note_of_a_later_page_is_kept_apart():
    page = read(post(0), post(1, comment_id="7025", comment=[post(25, "晚到", type=1)]), __ROWS=26, __R__ROWS=2)
    assert numbers(page) == [0, 1]
    assert [(one.floor_number, one.content_html) for one in page.notes_elsewhere] == [(25, "晚到")]


@pytest.mark.parametrize("gone", [{}, [], "", None])
def test_note_that_is_gone_is_noted(gone):
    page = read(post(0), post(1, comment_id="7025", comment=gone))
    assert [(note.code, note.count) for note in page.notes] == [("gone_notes", 1)]


def test_hot_replies_are_copies_and_not_stored():
    copy = post(15, "热评")
    page = read(post(0, **{"17": ",7015", "hotreply_id": ",7015", "hotreply": {"0": copy}}), post(1))
    assert numbers(page) == [0, 1]
    assert page.notes_elsewhere == ()


def test_anonymous_posts_have_a_name_in_every_slot():
    page = read(post(0, authorid=-1), post(1, authorid=-2), post(2, authorid=-9))
    assert [floor.author_name for floor in page.floors] == [TOKEN_NAME, TOKEN_NAME, ""]
    assert {floor.author_source_user_id for floor in page.floors} == {None}
    assert read(post(0), topic={"author": TOKEN, "authorid": -3}).author_name == TOKEN_NAME


def test_user_who_is_not_listed_is_named_by_id():
    assert read(post(0, authorid=99)).floors[0].author_name == "UID99"
    assert read(post(0, authorid=99), __U="").floors[0].author_source_user_id == 99


@pytest.mark.parametrize(
    ("said", "stamp"),
    [
        ("[E1782532900 0 0]\t", 1782532900),
        ("[E1782532900 42 版主甲]", 1782532900),
        ("[E1782532900 0 #ANONYMOUS#]\t[A1 2 3 4 好]\t", 1782532900),
        ("[L30 7 0 0 原因]\n[E1782532900 0 0]\t[U1]", 1782532900),
        ("[E1782532800 0 0]\t[E1782532900 0 0]", 1782532900),
        ("[1 2 3 4]", None),
        ("edit by someone", None),
        ("", None),
        ("[E17 0 0]", None),
    ],
)
def test_edit_stamp(said, stamp):
    found = read(post(0, alterinfo=said)).floors[0].source_edited_at
    assert (found and found.timestamp()) == stamp


@pytest.mark.parametrize(
    ("bits", "deleted", "folded"),
    [(0, False, False), (2, False, True), (1024, False, False), (1026, True, False), (1026 | 32 | 8192, True, False)],
)
def test_hidden_and_locked_bits(bits, deleted, folded):
    floor = read(post(0), post(1, type=bits)).floors[1]
    assert (floor.is_deleted_by_source, floor.is_folded_by_source) == (deleted, folded)


def test_deleted_post_with_empty_text_is_still_a_post():
    for empty in ("", None):
        page = read(post(0), post(1, empty, type=1026))
        assert numbers(page) == [0, 1]
        assert page.floors[1].is_deleted_by_source


def test_poll_is_read_and_shown_without_its_votes():
    vote = "1~甲方~2~乙&amp;丙~max_select~2~end~1782540000~_1~5,50~_2~7,70"
    for page in (read(post(0, vote=vote)), read(post(0), topic={"post_misc_var": {"vote": vote}})):
        poll = page.floors[0].poll
        assert poll.options == (("甲方", 5), ("乙&丙", 7))
        assert (poll.most_choices, poll.ends_at.timestamp()) == (2, 1782540000)
        assert '<ul class="bb-poll"><li>甲方</li><li>乙&amp;丙</li></ul>' in page.floors[0].content_html
    more = read(post(0, vote=vote.replace("5,50", "6,60")))
    assert more.floors[0].content_fingerprint_sha256 == page.floors[0].content_fingerprint_sha256


def test_attachments_that_the_text_does_not_show_are_added():
    files = {
        "0": {"attachurl": "mon_202606/27/shown.jpg", "type": "img", "size": 118, "url_utf8_org_name": "a%2ejpg"},
        "1": {"attachurl": "mon_202606/27/loose.png", "type": "img", "url_utf8_org_name": "%e5%9b%be%2epng"},
        "2": {"attachurl": "mon_202606/27/pack.zip", "type": "zip", "name": "pack.zip"},
    }
    floor = read(post(0, "[img]./mon_202606/27/shown.jpg.medium.jpg[/img]", attachs=files)).floors[0]
    assert [file.url.rsplit("/", 1)[1] for file in floor.attachments] == ["shown.jpg", "loose.png", "pack.zip"]
    assert (floor.attachments[0].name, floor.attachments[0].size_kb) == ("a.jpg", 118)
    assert floor.content_html.count("shown.jpg") == 1
    assert 'src="https://img.nga.cn/attachments/mon_202606/27/loose.png" alt="图.png"' in floor.content_html
    assert '<a href="https://img.nga.cn/attachments/mon_202606/27/pack.zip"' in floor.content_html
    assert floor.content_fingerprint_sha256 != read(post(0, floor.content_source)).floors[0].content_fingerprint_sha256


@pytest.mark.parametrize("base", ["127.0.0.1:8123/attachments", "http://127.0.0.1:8123/attachments/"])
def test_attachments_live_where_the_answer_says(base):
    page = read(post(0, "[img]./a/b.png[/img]"), __GLOBAL={"_ATTACH_BASE_VIEW": base})
    assert 'src="https://127.0.0.1:8123/attachments/a/b.png"' in page.floors[0].content_html


@pytest.mark.parametrize("base", [None, "", "javascript:alert(1)", 'x" onerror="y', 5, [], "a b", "user@host/x"])
def test_base_that_is_none_is_not_used(base):
    page = read(post(0, "[img]./a/b.png[/img]"), __GLOBAL={"_ATTACH_BASE_VIEW": base})
    assert 'src="https://img.nga.cn/attachments/a/b.png"' in page.floors[0].content_html


def test_heading_of_a_reply_is_part_of_its_text():
    plain, headed = read(post(0), post(1, "x")).floors[1], read(post(0), post(1, "x", subject="小标题")).floors[1]
    assert headed.content_html == "<h4>小标题</h4>x"
    assert plain.content_fingerprint_sha256 != headed.content_fingerprint_sha256


def test_newest_first_topics_keep_true_numbers():
    rows = [post(0), *(post(n) for n in range(44, 24, -1))]
    page = read(*rows, topic={"topic_misc_var": {"1": 262144}}, __ROWS=45)
    assert page.is_newest_first
    assert numbers(page) == [0, *range(25, 45)]
    assert page.missing_numbers() == ()
    assert page.is_complete(1)
    assert [list(floors_of_page(n, 45, newest_first=True))[:1] for n in (1, 2, 3)] == [[25], [5], [0]]


def test_moved_recycled_and_mirrored_topics_say_so():
    page = read(post(0, fid=108), topic={"fid": 108, "quote_from": 31, "locked": 1})
    assert (page.fid, page.is_recycled, page.mirror_of, page.is_locked) == (108, True, 31, True)


def test_repeated_and_broken_rows_are_counted():
    twice = read(post(0), post(1), post(1), __R__ROWS=3)
    assert numbers(twice) == [0, 1]
    assert not twice.is_complete(1)
    broken = read(post(0), post(1, pid=0), {**post(2), "lou": -1})
    assert numbers(broken) == [0]
    assert not broken.is_complete(1)


def test_topic_without_rows_or_totals_is_not_believed():
    with pytest.raises(LayoutChanged):
        read(__ROWS=3)
    with pytest.raises(LayoutChanged):
        read(post(0), __ROWS=None)
    document = topic_document(post(0))
    document["data"]["__T"] = ""
    with pytest.raises(LayoutChanged):
        read_topic(body(document))


def test_list_is_no_topic():
    from watchbook.systems.nga.parse.tests.answers import list_document, row

    with pytest.raises(LayoutChanged):
        read_topic(body(list_document(row(1))))
