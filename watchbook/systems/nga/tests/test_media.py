"""Files of posts: kept by default, fetched once, shown from here with their original address, never a page instead."""

from __future__ import annotations

import io

import pytest
from django.urls import reverse
from PIL import Image

from standins.nga_board import Attachment
from standins.server import Answer
from watchbook.base import clock
from watchbook.base.testing.people import alice, client_of
from watchbook.core.jobs.runner import run_now
from watchbook.core.media.models import FileReference, FileState, KeptFile
from watchbook.systems.nga.store.media import files_in
from watchbook.systems.nga.tests.archive import floors_of
from watchbook.systems.nga.tests.desk import keep_old_picture

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["alice"]
_OUT = io.BytesIO()
Image.new("RGB", (400, 200), "teal").save(_OUT, "PNG")
PNG = _OUT.getvalue()
MP3 = b"ID3\x04\x00\x00\x00\x00\x00\x00" + b"\xff\xfb\x90\x00" + b"\x00" * 600


@pytest.fixture
def tid(board, crawler):
    picture = f"[img]{board.url}/a.png[/img] 和 [s:ac:哭笑]"
    made = board.world.add_topic("[讨论]图", picture)
    board.world.reply(made, picture)
    board.world.reply(made, f"[img]{board.url}/shield.jpg[/img] [flash=audio]{board.url}/song.mp3[/flash]")
    board.route("/a.png", lambda _request: Answer(200, PNG, content_type="image/png"))
    board.route("/song.mp3", lambda _request: Answer(200, MP3, content_type="audio/mpeg"))
    board.route("/shield.jpg", lambda _request: Answer(200, b"<html>check</html>", content_type="image/jpeg"))
    crawler.crawl()
    return made


def keep(board):
    """Find the files of posts, then fetch them."""
    with clock.set_to(board.world.moment):
        found, fetched = run_now("nga.media"), run_now("media.fetch")
    assert (found.state, fetched.state) == ("done", "done")
    return found


def states():
    rows = KeptFile.objects.values_list("url", "state")
    return {url.rpartition("/")[2]: state for url, state in rows}


def test_files_of_posts_are_kept_by_default_and_fetched_once(board, tid):
    assert keep(board).progress["queued"] == 3
    assert states() == {"a.png": "kept", "song.mp3": "kept", "shield.jpg": "waiting"}
    assert board.log.count("/a.png") == 1
    posts = {str(floor.pk): number for number, floor in floors_of(tid).items()}
    shown = FileReference.objects.filter(system="nga", file__url=f"{board.url}/a.png")
    assert sorted(posts[row.object_id] for row in shown) == [0, 1]
    assert keep(board).outcome == "nothing_to_do"
    assert board.log.count("/a.png") == 1


def test_switch_records_nothing_and_fetches_nothing(board, tid, monkeypatch):
    monkeypatch.setenv("NGA_MEDIA", "off")
    assert keep(board).outcome == "nothing_to_do"
    assert not KeptFile.objects.exists()


def test_page_instead_of_a_picture_is_tried_again_and_then_given_up(board, tid):
    for _round in range(6):
        keep(board)
        board.world.advance(days=2)
    assert states()["shield.jpg"] == FileState.FAILED
    assert 2 <= board.log.count("/shield.jpg") <= 4


def test_outage_of_the_host_costs_no_attempt(board, tid):
    with board.faults.on("/a.png").fail(503):
        keep(board)
    assert KeptFile.objects.get(url__endswith="a.png").attempts == 0
    board.world.advance(days=1)
    keep(board)
    assert states()["a.png"] == "kept"


def test_edit_brings_new_files_and_old_ones_stay(board, crawler, tid):
    keep(board)
    board.route("/c.png", lambda _request: Answer(200, PNG, content_type="image/png"))
    board.world.edit(tid, floors_of(tid)[1].source_post_id, f"[img]{board.url}/c.png[/img]")
    board.world.advance(hours=1)
    board.world.reply(tid, "新")
    crawler.crawl(after=1)
    assert keep(board).progress["queued"] == 1
    post = floors_of(tid)[1]
    assert FileReference.objects.filter(object_id=str(post.pk)).count() == 2


def test_topic_page_shows_files_from_here_with_their_original_address(board, tid, alice):
    keep(board)
    client = client_of(alice)
    page = client.get(reverse("nga:topic", args=[tid])).text
    files = {row.url.rpartition("/")[2]: row for row in KeptFile.objects.all()}
    assert f'src="{files["a.png"].path}"' in page
    assert f'class="bb-origin" href="{board.url}/a.png"' in page
    assert f'<audio class="bb-player" src="{files["song.mp3"].path}" controls preload="none"' in page
    assert f'href="{board.url}/song.mp3"' in page
    assert f'<a class="bb-picture" href="{board.url}/shield.jpg"' in page  # not kept: a link
    sent = client.get(files["a.png"].path)
    assert (sent.status_code, sent["Content-Type"]) == (200, "image/png")


def test_pictures_from_before_are_shown_and_not_fetched_again(board, tid, alice, settings, tmp_path):
    settings.HOME = tmp_path
    name = keep_old_picture(floors_of(tid)[0], f"{board.url}/a.png")
    keep(board)
    assert board.log.count("/a.png") == 0
    assert f'src="/nga/pictures/{name}/"' in client_of(alice).get(reverse("nga:topic", args=[tid])).text


def test_attachments_count_and_smilies_and_pages_do_not(board, crawler):
    text = "[s:ac:哭笑] [url=https://example.org/read.html]页[/url] [url=https://example.org/clip.MP4]片[/url]"
    files = [Attachment("mon_202606/01/x.jpg"), Attachment("mon_202606/01/y.zip", kind="zip")]
    tid = board.world.add_topic("[讨论]附件", text, attachments=files)
    crawler.crawl()
    assert files_in(floors_of(tid)[0].content_html) == [
        ("https://example.org/clip.MP4", "video"),
        ("https://img.nga.cn/attachments/mon_202606/01/x.jpg", "picture"),
        ("https://img.nga.cn/attachments/mon_202606/01/y.zip", "attachment"),
    ]
