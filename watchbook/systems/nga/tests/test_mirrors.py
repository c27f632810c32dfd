"""One topic under two boards: each board's row has its own page, and every address leads to its own."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base import clock
from watchbook.base.testing.people import alice, operator
from watchbook.core.accounts import tokens
from watchbook.core.jobs.models import JobRun
from watchbook.core.search.models import SearchDocument
from watchbook.systems.nga import feeds
from watchbook.systems.nga.feeds import Subject
from watchbook.systems.nga.models import Post, Thread
from watchbook.systems.nga.store.publish import NEW_TOPIC, index_threads, publish_topics
from watchbook.systems.nga.tests.desk import FIRST_TID, START, board, browser, fill, get, make_thread

pytestmark = pytest.mark.django_db

__all__ = ["alice", "operator"]


@pytest.fixture
def reader(alice):
    with clock.set_to(START + timedelta(hours=1)):
        yield browser(alice)


@pytest.fixture
def first(db):
    return fill(make_thread(0, title="at the first board"), range(3))


@pytest.fixture
def mirror(first):
    return fill(make_thread(0, title="at the second board", forum=board(-7)), range(45))


def link(answer):
    return re.search(r'class="rows-title"\s+href="([^"]+)"', answer.content.decode())[1]


def test_each_board_leads_to_its_own_topic(reader, first, mirror):
    for fid, thread in ((7, first), (-7, mirror)):
        answer = reader.get(link(get(reader, "topics", fid=fid)))
        assert (answer.status_code, answer.context["thread"].pk) == (200, thread.pk)


def test_first_keeps_its_short_address(reader, first, mirror):
    assert link(get(reader, "topics", fid=7)) == f"/nga/topics/{FIRST_TID}/"


def test_no_link_of_a_mirror_leads_away_from_its_board(reader, mirror):
    answer = reader.get(f"/nga/topics/{FIRST_TID}/?fid=-7")
    found = re.findall(rf'(?:href|action)="((?:/nga/topics/{FIRST_TID}/)?(?:[\w/]*)\?[^"]*)"', answer.content.decode())
    inside = [each for each in found if each.startswith(("?", "/nga/topics/"))]
    assert len(inside) > 20
    assert not [each for each in inside if "fid=-7" not in each]
    assert f'href="/nga/topics/{FIRST_TID}/"' not in answer.content.decode()
    assert b'<input type="hidden" name="fid" value="-7">' in answer.content


def test_post_and_versions_keep_the_board_in_their_address(reader, mirror):
    answer = reader.get(f"/nga/topics/{FIRST_TID}/floors/30/?fid=-7")
    assert answer.headers["Location"] == f"/nga/topics/{FIRST_TID}/?fid=-7&page=2#f30"
    jump = reader.get(f"/nga/topics/{FIRST_TID}/?fid=-7&floor=44")
    assert jump.headers["Location"] == f"/nga/topics/{FIRST_TID}/?fid=-7&page=3#f44"
    pid = Post.objects.get(thread=mirror, floor_number=30).source_post_id
    assert "fid=-7&page=2#f30" in reader.get(f"/nga/topics/{FIRST_TID}/posts/{pid}/?fid=-7").headers["Location"]
    assert reader.get(f"/nga/topics/{FIRST_TID}/floors/30/versions/?fid=-7").status_code == 200
    # The first board stores three floors only.
    assert reader.get(f"/nga/topics/{FIRST_TID}/floors/30/versions/").status_code == 404


def test_feed_of_a_mirror_is_its_own(alice, first, mirror):
    address = feeds.make(alice, Subject(thread=mirror), None)
    answer = browser().get(address[address.index("/nga/") :])
    assert b"#44 " in answer.content
    assert f"/nga/topics/{FIRST_TID}/floors/44/?fid=-7".encode() in answer.content
    other = address.replace(f"{FIRST_TID}@-7", str(FIRST_TID))
    assert browser().get(other[other.index("/nga/") :]).status_code == 404


def test_search_and_stream_name_the_board_with_one_query_for_all(first, mirror):
    threads = list(Thread.objects.order_by("pk"))
    index_threads(threads, START)
    with CaptureQueriesContext(connection) as queries:
        publish_topics(threads, NEW_TOPIC, START)
    assert not [each for each in queries if each["sql"].startswith("SELECT") and '"threads"' in each["sql"]]
    paths = dict(SearchDocument.objects.values_list("object_id", "url_path"))
    assert paths[str(first.pk)] == f"/nga/topics/{FIRST_TID}/"
    assert paths[str(mirror.pk)] == f"/nga/topics/{FIRST_TID}/?fid=-7"


def test_programs_name_the_board(operator, first, mirror):
    _token, plain = tokens.make(operator, ["read", "write", "staff"], 1, name="test")
    client, headers = browser(), {"Authorization": f"Bearer {plain}"}

    def count(**query):
        answer = client.get(f"/api/v1/nga/threads/{FIRST_TID}/posts", query, headers=headers)
        return len(answer.json()["items"])

    assert (count(), count(fid=7), count(fid=-7)) == (3, 3, 45)
    assert client.get(f"/api/v1/nga/threads/{FIRST_TID}/posts?fid=8", headers=headers).status_code == 404
    for fid, args in ((7, {"tid": FIRST_TID}), (-7, {"tid": FIRST_TID, "fid": -7})):
        answer = client.post(f"/api/v1/nga/threads/{FIRST_TID}/read?fid={fid}", headers=headers)
        assert (answer.status_code, JobRun.objects.latest("pk").args) == (202, args)
