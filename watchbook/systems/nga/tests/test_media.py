"""Pictures: off unless wanted, fetched once, kept by what is in them, refused when they are something else."""

from __future__ import annotations

import pytest

from standins.nga_board import Attachment
from standins.server import Answer
from watchbook.base import clock
from watchbook.core.jobs.runner import run_now
from watchbook.systems.nga.models import MediaAsset, PostMediaMap
from watchbook.systems.nga.store.media import media_file, pictures_of
from watchbook.systems.nga.tests.archive import floors_of

pytestmark = pytest.mark.django_db
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 500


@pytest.fixture
def tid(board, crawler):
    picture = f"[img]{board.url}/a.png[/img] 和 [s:ac:哭笑]"
    made = board.world.add_topic("[讨论]图", picture)
    board.world.reply(made, picture)
    board.world.reply(made, f"[img]{board.url}/b.png[/img][img]{board.url}/shield.jpg[/img]")
    board.route("/a.png", lambda _request: Answer(200, PNG, content_type="image/png"))
    board.route("/b.png", lambda _request: Answer(200, PNG, content_type="image/png"))
    board.route("/shield.jpg", lambda _request: Answer(200, b"<html>check</html>", content_type="image/jpeg"))
    crawler.crawl()
    return made


def keep(board):
    with clock.set_to(board.world.moment):
        run = run_now("nga.media")
    assert run.state == "done", run.error
    return run


def test_nothing_is_fetched_unless_it_is_wanted(board, tid):
    assert keep(board).outcome == "nothing_to_do"
    assert not PostMediaMap.objects.exists()


def test_a_picture_is_fetched_once_and_stored_by_its_content(board, tid, monkeypatch):
    monkeypatch.setenv("NGA_MEDIA", "on")
    run = keep(board)
    assert (run.progress["kept"], run.progress["failed"]) == (2, 1)
    asset = MediaAsset.objects.get()
    assert media_file(asset.content_sha256).read_bytes() == PNG
    assert (asset.media_format_text, asset.byte_count) == ("png", len(PNG))
    rows = {(row.post.floor_number, row.source_url.rpartition("/")[2]): row for row in PostMediaMap.objects.all()}
    assert {key: row.media_asset_id for key, row in rows.items()} == {
        (0, "a.png"): asset.pk,
        (1, "a.png"): asset.pk,
        (2, "b.png"): asset.pk,
        (2, "shield.jpg"): None,
    }
    assert "bad_answer" in rows[2, "shield.jpg"].error_summary
    assert board.log.count("/a.png") == 1


def test_what_is_no_picture_is_given_up_and_an_edit_brings_new_ones(board, crawler, tid, monkeypatch):
    monkeypatch.setenv("NGA_MEDIA", "on")
    for _ in range(5):
        keep(board)
    assert board.log.count("/shield.jpg") == 3
    board.route("/c.png", lambda _request: Answer(200, PNG + b"1", content_type="image/png"))
    board.world.edit(tid, floors_of(tid)[1].source_post_id, f"[img]{board.url}/c.png[/img]")
    board.world.advance(hours=1)
    board.world.reply(tid, "新")
    crawler.crawl(after=1)
    assert keep(board).progress["kept"] == 1
    assert PostMediaMap.objects.filter(post=floors_of(tid)[1]).count() == 2


def test_attachments_count_and_smilies_do_not(board, crawler):
    tid = board.world.add_topic("[讨论]附件", "[s:ac:哭笑]", attachments=[Attachment("mon_202606/01/x.jpg")])
    crawler.crawl()
    assert pictures_of(floors_of(tid)[0].content_html) == ["https://img.nga.cn/attachments/mon_202606/01/x.jpg"]
