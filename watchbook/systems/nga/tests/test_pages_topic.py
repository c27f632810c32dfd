"""The page of a topic, its floors, gaps and versions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import alice
from watchbook.kit import badges
from watchbook.systems.nga.models import MediaAsset, Post, PostAbsence, ThreadReadingState
from watchbook.systems.nga.parse.bbcode import Extras, Place, render
from watchbook.systems.nga.tests.desk import (
    FIRST_TID,
    MOST_QUERIES,
    PNG,
    START,
    board,
    browser,
    delete,
    desk,
    edit,
    fill,
    get,
    keep_old_picture,
    make_run,
    make_thread,
    post_of,
    read,
)
from watchbook.systems.nga.views.posts import Gap, shown_html
from watchbook.systems.nga.views.versions import plain_text

pytestmark = pytest.mark.django_db

__all__ = ["alice", "desk"]


@pytest.fixture
def reader(alice):
    with clock.set_to(START + timedelta(hours=1)):
        yield browser(alice)


def numbers(answer):
    return [floor.number for floor in answer.context["shown"].floors]


def gaps(answer):
    return [item for item in answer.context["shown"].items if isinstance(item, Gap)]


class TestFloors:
    def test_pages_are_divided_by_post_number(self, reader, desk):
        assert numbers(get(reader, "topic", FIRST_TID)) == list(range(20))
        assert numbers(get(reader, "topic", FIRST_TID, page=3)) == [40, 41, 42, 45]

    def test_page_past_the_end_is_the_last_one(self, reader, desk):
        assert numbers(get(reader, "topic", FIRST_TID, page=999)) == [40, 41, 42, 45]
        assert numbers(get(reader, "topic", FIRST_TID, page="x")) == list(range(20))

    def test_address_of_a_post_redirects_to_its_page(self, reader, desk):
        assert get(reader, "floor", FIRST_TID, 42)["Location"] == f"/nga/topics/{FIRST_TID}/?page=3#f42"
        assert get(reader, "floor", FIRST_TID, 0)["Location"] == f"/nga/topics/{FIRST_TID}/#f0"
        assert get(reader, "topic", FIRST_TID, floor="42")["Location"] == f"/nga/topics/{FIRST_TID}/?page=3#f42"
        assert 'id="f42"' in get(reader, "topic", FIRST_TID, page=3).content.decode()

    def test_quotation_links_to_the_post_or_else_to_the_source(self, reader, desk):
        post = desk.posts.get(floor_number=42)
        assert get(reader, "post", FIRST_TID, post.source_post_id)["Location"].endswith("?page=3#f42")
        assert get(reader, "post", FIRST_TID, 5)["Location"].startswith("https://bbs.nga.cn/read.php?")

    def test_missing_posts_are_shown_between_the_others_with_their_attempts(self, reader, desk):
        answer = get(reader, "topic", FIRST_TID, page=3)
        assert [(gap.first, gap.last, gap.attempts) for gap in gaps(answer)] == [(43, 43, 2), (44, 44, 3)]
        page = answer.content.decode()
        assert page.index('id="f42"') < page.index('id="f43"') < page.index('id="f45"')
        assert "2 of 3 attempts" in page
        assert "Gave up after 3 attempts." in page

    def test_every_post_of_a_gap_is_shown_on_the_page(self, reader, desk):
        Post.objects.filter(thread=desk, floor_number__in=range(5, 9)).delete()
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert [page.count(f'id="f{number}"') for number in range(4, 10)] == [1] * 6

    def test_deleted_post_shows_its_text_and_the_time_of_deletion(self, reader, desk):
        page = get(reader, "topic", FIRST_TID, page=3).content.decode()
        assert "第 41 楼的文字。" in page
        assert str(badges.find("floor", "deleted").text) in page
        assert "Missing in 2 complete crawls (" in page

    def test_post_absent_once_is_not_shown_as_deleted(self, reader, desk):
        post = desk.posts.get(floor_number=3)
        PostAbsence.objects.create(post=post, crawl_run_id=1, first_absent_at=START, last_absent_at=START)
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert "A second crawl decides if it is deleted." in page
        assert str(badges.find("floor", "deleted").text) not in page

    def test_collapsed_post_hides_its_text_until_it_is_opened(self, reader, desk):
        desk.posts.filter(floor_number=2).update(is_folded_by_source=True)
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert "Collapsed on the site. Show text" in page
        assert "第 2 楼的文字。" in page

    def test_edited_post_shows_the_time_and_the_difference(self, reader, desk):
        page = get(reader, "topic", FIRST_TID, page=3).content.decode()
        assert "Edited" in page
        assert "<del>" not in page
        opened = get(reader, "topic", FIRST_TID, page=3, open=42).content.decode()
        assert "<del>原来</del>" in opened
        assert "version 1" in opened

    def test_anonymous_author_has_a_name_and_no_number(self, reader):
        thread = make_thread(0)
        fill(thread, [0, 1], author_name="甲王李辰张刘", author_source_user_id=None)
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert "甲王李辰张刘" in page
        assert "anonymous" in page

    def test_only_one_author_over_all_pages(self, reader, desk):
        answer = get(reader, "topic", FIRST_TID, author_id=2003)
        assert numbers(answer) == [3, 10, 17, 24, 31, 38, 45]
        assert not gaps(answer)

    def test_one_author_with_many_posts_is_paged_by_post(self, reader):
        fill(make_thread(0), range(120), author_name="one", author_source_user_id=5)
        first = get(reader, "topic", FIRST_TID, author_id=5)
        second = get(reader, "topic", FIRST_TID, author_id=5, after=19)
        assert numbers(first) == list(range(20))
        assert numbers(second) == list(range(20, 40))
        assert numbers(get(reader, "topic", FIRST_TID, author_id=5, before=20)) == list(range(20))

    def test_only_what_changed(self, reader, desk):
        assert numbers(get(reader, "topic", FIRST_TID, show="changed")) == [41, 42]

    def test_topic_shown_newest_first_is_in_true_order_and_says_so(self, reader, desk):
        ThreadReadingState.objects.create(thread=desk, is_newest_first=True)
        answer = get(reader, "topic", FIRST_TID)
        assert numbers(answer)[:3] == [0, 1, 2]
        assert b"The site shows the newest posts of this topic first" in answer.content

    def test_gone_topic_keeps_everything_and_says_so(self, reader, desk):
        ThreadReadingState.objects.create(thread=desk, gone_answer_count=2, gone_at=START)
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert "This topic was deleted or hidden on the site" in page
        assert "第 3 楼的文字。" in page

    def test_unfinished_topic_shows_where_it_continues(self, reader):
        thread = fill(make_thread(0), range(100))
        thread.crawl_backfill_next_page_number, thread.crawl_page_total_last_seen = 6, 261
        thread.save()
        assert b"page 6 of 261 is next" in get(reader, "topic", FIRST_TID, page=5).content
        assert b"is next" not in get(reader, "topic", FIRST_TID, page=4).content

    def test_unfinished_newest_first_topic_continues_after_its_last_post(self, reader):
        thread = fill(make_thread(0), range(100))
        ThreadReadingState.objects.create(thread=thread, is_newest_first=True)
        thread.crawl_backfill_next_page_number, thread.crawl_page_total_last_seen = 7, 12
        thread.save()
        assert get(reader, "topic", FIRST_TID, page=5).context["unread"] == 100
        (row,) = get(reader, "topics").context["rows"]
        assert row.stored == "page 5 of 12"

    def test_topic_without_posts_shows_the_reason(self, reader):
        make_thread(0)
        make_thread(1, is_skipped_by_page_total_limit=True, reply_count_display=40_000)
        assert b"The next run crawls this topic." in get(reader, "topic", FIRST_TID).content
        assert b"Over 1,000 pages" in get(reader, "topic", FIRST_TID + 1).content

    def test_mirror_under_another_board_is_reached_by_its_board(self, reader):
        make_thread(0, title="here")
        make_thread(0, title="there", forum=board(-7))
        assert get(reader, "topic", FIRST_TID).context["thread"].title == "here"
        assert get(reader, "topic", FIRST_TID, fid="-7").context["thread"].title == "there"

    def test_unknown_topic_is_not_found(self, reader):
        for name, args in (("topic", [5]), ("floor", [5, 1]), ("post", [5, 1]), ("versions", [5, 1])):
            assert get(reader, name, *args).status_code == 404
        assert reader.get(f"/nga/topics/{'9' * 30}/").status_code == 404


class TestSurvey:
    def test_figures_beside_the_topic(self, reader, desk):
        seen = get(reader, "topic", FIRST_TID).context["post_map"]
        assert (seen.stored, seen.gaps, seen.edited, seen.deleted) == (44, 2, 1, 1)

    def test_map_has_a_cell_for_each_page_and_marks_the_one_with_a_gap(self, reader, desk):
        drawing = get(reader, "topic", FIRST_TID, page=3).context["post_map"].drawing
        assert drawing.count("c-fill") == 3
        assert drawing.count("c-warn") == 1
        assert "page 3, 1 edited, 2 missing" in drawing

    def test_map_of_a_very_long_topic_stays_small(self, reader):
        thread = fill(make_thread(0), [0, 19_999])
        drawing = get(reader, "topic", thread.source_thread_id).context["post_map"].drawing
        assert drawing.count("c-fill") == 250


class TestCost:
    def test_any_page_of_any_topic_costs_the_same_queries(self, reader):
        small, large = fill(make_thread(0), range(25)), fill(make_thread(1), range(2000))
        for thread in (small, large):
            read(make_run(), thread)
        costs = set()
        for thread, page in ((small, 2), (large, 1), (large, 50), (large, 100)):
            with CaptureQueriesContext(connection) as queries:
                assert get(reader, "topic", thread.source_thread_id, page=page).status_code == 200
            costs.add(len(queries))
        assert len(costs) == 1
        assert max(costs) <= MOST_QUERIES

    def test_edits_deletions_and_gaps_on_a_page_cost_one_query_more(self, reader):
        thread = fill(make_thread(0), [number for number in range(60) if number not in (45, 46, 50)])
        with CaptureQueriesContext(connection) as plain:
            get(reader, "topic", FIRST_TID, page=1)
        for number in range(40, 44):
            edit(thread.posts.get(floor_number=number), "before")
            delete(thread.posts.get(floor_number=number))
        with CaptureQueriesContext(connection) as eventful:
            get(reader, "topic", FIRST_TID, page=3)
        assert len(eventful) == len(plain) + 1
        assert len(eventful) <= MOST_QUERIES


class TestVersions:
    def test_newest_difference_comes_first_and_others_can_be_chosen(self, reader, desk):
        post = desk.posts.get(floor_number=42)
        edit(post, "第二版的文字。", at=START + timedelta(minutes=30))
        answer = get(reader, "versions", FIRST_TID, 42)
        assert [version.number for version in answer.context["versions"]] == [3, 2, 1]
        compared = answer.context["compared"]
        assert (compared.old.number, compared.new.number) == (2, 3)
        other = get(reader, "versions", FIRST_TID, 42, **{"from": 1, "to": 2}).context["compared"]
        assert (other.old.number, other.new.number) == (1, 2)

    def test_reason_and_stamp_belong_to_the_version_that_came(self, reader, desk):
        current, first = get(reader, "versions", FIRST_TID, 42).context["versions"]
        assert (current.reason, current.edited_at) == ("text changed", START - timedelta(minutes=10))
        assert current.run_id is not None
        assert (first.reason, first.edited_at) == ("", None)

    def test_deletion_is_a_version_without_a_difference(self, reader, desk):
        answer = get(reader, "versions", FIRST_TID, 41)
        assert b"No difference in the text." in answer.content
        assert answer.context["versions"][0].reason == "deleted on the site"

    def test_unchanged_post_has_one_version(self, reader, desk):
        answer = get(reader, "versions", FIRST_TID, 1)
        assert answer.context["compared"] is None
        assert len(answer.context["versions"]) == 1

    @pytest.mark.parametrize("query", [{"to": 9}, {"to": 0}])
    def test_unknown_version_is_not_found(self, reader, desk, query):
        assert get(reader, "versions", FIRST_TID, 42, **query).status_code == 404

    def test_picture_that_was_exchanged_is_a_difference(self, reader, desk):
        post = desk.posts.get(floor_number=5)
        post.content_html = render("[img]./mon_1/new.jpg[/img]")
        post.save()
        edit(post, render("[img]./mon_1/old.jpg[/img]"))
        page = get(reader, "versions", FIRST_TID, 5).content.decode()
        assert "<del>" in page
        assert "<ins>" in page


class TestContent:
    """What the page makes of stored HTML."""

    def test_pictures_are_links_and_nothing_is_loaded_from_elsewhere(self):
        shown = shown_html(render("看图 [img]./mon_1/13/lamp.jpg[/img] [s:ac:哭笑]"))
        assert "<img" not in shown
        assert 'href="https://img.nga.cn/attachments/mon_1/13/lamp.jpg"' in shown
        assert "lamp.jpg</a>" in shown
        assert 'aria-label="哭笑" title="[s:ac:哭笑]">😂</span>' in shown

    def test_kept_picture_is_shown_from_here(self, reader, settings, tmp_path):
        settings.HOME = tmp_path
        thread = fill(make_thread(0), [0])
        thread.posts.update(content_html=render("[img]./a.png[/img] [img]./b.png[/img]"))
        name = keep_old_picture(thread.posts.get(), "https://img.nga.cn/attachments/a.png")
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert page.count("<img") == 1
        assert f'src="/nga/pictures/{name}/" alt="a.png"' in page
        sent = get(reader, "picture", name)
        assert (b"".join(sent.streaming_content), sent["Content-Type"]) == (PNG, "image/png")
        assert get(reader, "picture", "0" * 64).status_code == 404
        MediaAsset.objects.create(content_sha256="1" * 64, media_format_text="html", byte_count=5, created_at=START)
        assert get(reader, "picture", "1" * 64).status_code == 404

    def test_picture_inside_a_link_makes_no_link_in_a_link(self):
        shown = shown_html(render("[url=https://example.org/][img]./a.jpg[/img][/url] [img]./b.jpg[/img]"))
        assert shown.count("<a ") == 2
        assert '<span class="bb-picture">' in shown

    def test_links_to_archived_topics_stay_in_the_archive(self):
        make_thread(0)
        html = render("[tid=40000001]这里[/tid] [tid=5]那里[/tid] [pid=900000077,40000001,3]Reply[/pid]")
        shown = shown_html(html, {40_000_001: ""})
        assert 'href="/nga/topics/40000001/"' in shown
        assert 'href="/nga/topics/40000001/posts/900000077/"' in shown
        assert 'href="https://bbs.nga.cn/read.php?tid=5"' in shown

    def test_alt_texts_and_addresses_are_escaped_once_more(self):
        hostile = '<img src="https://example.org/?a=1&amp;b=&quot;x" alt="a &gt; &lt;b&gt; &quot;c">'
        shown = shown_html(hostile)
        assert "<b>" not in shown
        assert 'href="https://example.org/?a=1&amp;b=&quot;x"' in shown

    def test_opening_post_does_not_repeat_the_title_of_the_page(self, reader):
        thread = fill(make_thread(0, title="a < b & c"), [0])
        thread.posts.update(content_html=render("words", extras=Extras(subject="a < b & c")))
        assert "bb-title" not in get(reader, "topic", FIRST_TID).content.decode()
        thread.posts.update(content_html=render("words", extras=Extras(subject="another")))
        assert '<h2 class="bb-title">another</h2>' in get(reader, "topic", FIRST_TID).content.decode()

    def test_plain_text_has_a_line_for_each_block(self):
        html = render("一行[list][*]甲[*]乙[/list]末行", Place())
        assert [line for line in plain_text(html).split("\n") if line] == ["一行", "甲", "乙", "末行"]

    def test_topic_page_renders_the_post_like_the_post_page(self, reader):
        thread = fill(make_thread(0), [0])
        thread.posts.update(content_html=render("[color=red]红[/color][img]./x.jpg[/img]"))
        page = get(reader, "topic", FIRST_TID).content.decode()
        assert '<span class="bb-red">红</span>' in page
        assert "<img" not in page

    def test_post_is_rendered_without_being_stored(self):
        # The desk's own floors must be as unlike each other as real ones: a pid for each.
        thread = make_thread(0)
        assert len({post_of(thread, number).source_post_id for number in range(50)}) == 50
