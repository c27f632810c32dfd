"""The guest gate is passed once, as a browser does; one that stays shut costs next to nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standins.nga_board import NgaBoard
from watchbook.base.logs import redact
from watchbook.systems.nga import errors
from watchbook.systems.nga.fetch import BoardReader

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        monkeypatch.setenv("NGA_BASE_URL", made.url)
        made.world.add_topic("标题")
        yield made


@pytest.mark.parametrize("status", [403, 200])
@pytest.mark.parametrize("is_old", [False, True])
def test_guest_check_is_passed_once_for_all_requests(board, status, is_old):
    board.set_gate("ask", status=status, is_old=is_old)
    reader = BoardReader()
    for _ in range(4):
        assert reader.list_page(7, 1).topics
    first, second, *later = board.log.all()
    assert len(later) == 3
    assert 100 <= int(second.params["rand"]) <= 999
    assert "rand" not in first.params
    assert all("rand" not in request.params for request in later)
    assert set(second.cookies) == {"lastvisit", "ngaPassportUid", "guestJs"}
    assert reader.http_request_count == 5


def test_failed_guest_check_costs_at_most_eight_requests(board):
    board.set_gate("shut")
    reader = BoardReader()
    for _ in range(20):
        with pytest.raises(errors.GuestCheckFailed):
            reader.list_page(7, 1)
        with pytest.raises(errors.GuestCheckFailed):
            reader.topic_page(40_000_002, 1)
    assert board.log.count() == reader.http_request_count <= 8


def test_expired_guest_pass_is_renewed(board):
    board.set_gate("ask", good_for=8)
    reader = BoardReader()
    for _ in range(20):
        assert reader.list_page(7, 1).topics
    assert board.gate.shown == 3


def test_guest_check_passed_for_one_page_only_counts_as_failed(board):
    board.set_gate("ask", good_for=1)
    reader = BoardReader()
    assert reader.list_page(7, 1).topics
    with pytest.raises(errors.GuestCheckFailed):
        reader.list_page(7, 2)
    assert board.log.count() <= 8


def test_account_needs_no_guest_check(board, monkeypatch):
    monkeypatch.setenv("NGA_COOKIE", "ngaPassportUid=4000123; ngaPassportCid=Xsecretcid0123456789")
    board.set_gate("shut")
    assert BoardReader().list_page(7, 1).topics
    assert board.log.last().cookies == {"ngaPassportUid": "4000123", "ngaPassportCid": "Xsecretcid0123456789"}
    assert "Xsecretcid" not in redact.text("the value Xsecretcid0123456789 in a line")


def test_cookies_do_not_follow_to_another_host(board, monkeypatch):
    monkeypatch.setenv("NGA_COOKIE", "ngaPassportUid=4000123; ngaPassportCid=Xsecretcid0123456789")
    with NgaBoard() as elsewhere:
        elsewhere.world.add_topic("标题")
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"{board.netloc},localhost:{elsewhere.port}")
        board.faults.on("*").redirect(f"http://localhost:{elsewhere.port}/thread.php?fid=7&__output=11")
        BoardReader().list_page(7, 1)
        assert "Cookie" not in elsewhere.log.last().headers
