"""Adding a board by its address: a preview of real topics, operators only, once."""

from __future__ import annotations

import pytest

from standins.nga_board import NgaBoard
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice, client_of, operator  # noqa: F401 - fixtures
from watchbook.core.accounts.models import User
from watchbook.core.jobs.models import JobRun
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search.models import SavedSearch
from watchbook.core.sources import recognise
from watchbook.core.sources.records import AddError, Found, Offer
from watchbook.kit.formatting import today
from watchbook.systems.nga.actions import TRIED_REQUESTS
from watchbook.systems.nga.models import FollowedAuthor, Forum, Thread
from watchbook.systems.nga.tests.archive import Crawler

pytestmark = pytest.mark.django_db

BOARD = "https://nga.178.com/thread.php?fid=7"


def read(text: str) -> Found:
    found = recognise.recognise(text).found
    assert found is not None
    return found


def look(user: User, text: str) -> Offer:
    return recognise.make_offer(user, read(text))


def test_board_is_previewed_and_added_once(board: NgaBoard, operator: User) -> None:  # noqa: F811
    board.world.add_topic("[讨论]纸灯笼")
    offer = look(operator, BOARD)
    assert [item.title for item in offer.items] == ["[讨论]纸灯笼"]
    assert (offer.can_add, offer.requests_made, Forum.objects.count()) == (True, len(board.log.all()), 0)
    signed = recognise.read_proof(operator, recognise.sign(operator, read(BOARD), offer))
    [added] = recognise.add(operator, signed)
    assert added.url == "/nga/?fid=7"
    assert Forum.objects.get().source_forum_id == 7
    assert JobRun.objects.filter(name="nga.crawl").count() == 1
    assert look(operator, BOARD).exists is not None
    with pytest.raises(AddError) as refused:
        recognise.add(operator, signed)
    assert (refused.value.code, refused.value.url) == ("exists", "/nga/?fid=7")


def test_member_may_not_add_and_costs_no_request(board: NgaBoard, alice: User, operator: User) -> None:  # noqa: F811
    assert look(alice, BOARD).code == look(alice, "tid=1").code == "not_allowed"
    assert board.log.all() == []
    board.world.add_topic("[讨论]纸灯笼")
    signed = recognise.read_proof(operator, recognise.sign(operator, read(BOARD), look(operator, BOARD)))
    with pytest.raises(AddError) as refused:
        recognise.add(alice, signed)
    assert refused.value.code == "not_allowed"


def test_topic_is_added_and_followed_and_offers_its_board(board: NgaBoard, operator: User) -> None:  # noqa: F811
    tid = board.world.add_topic("[讨论]纸灯笼")
    found = read(f"https://ngabbs.com/read.php?tid={tid}&page=3")
    offer = recognise.make_offer(operator, found)
    assert offer.items[0].title == "[讨论]纸灯笼"
    assert [read(other.text).key for other in offer.instead] == ["7"]
    recognise.add(operator, recognise.read_proof(operator, recognise.sign(operator, found, offer)))
    assert JobRun.objects.get(name="nga.thread").args == {"tid": tid, "follow": True}


def test_unreadable_topic_is_not_offered(board: NgaBoard, operator: User) -> None:  # noqa: F811
    offer = look(operator, "https://ngabbs.com/read.php?tid=5")
    assert (offer.can_add, bool(offer.problem)) == (False, True)


def test_failed_preview_names_its_reason_and_can_be_added(board: NgaBoard, operator: User) -> None:  # noqa: F811
    board.faults.on("/thread.php").answer(503)
    offer = look(operator, BOARD)
    assert offer.can_add
    assert offer.problem.endswith(".")
    assert offer.requests_made <= recognise.MOST_REQUESTS


def test_new_topics_of_a_board_are_notified_and_those_of_yesterday_are_not(board: NgaBoard, operator: User) -> None:  # noqa: F811
    channel = NotificationChannel.objects.create(user=operator, name="desk", channel_type="email")
    board.world.add_topic("[讨论]纸灯笼")
    offer = look(operator, BOARD)
    assert offer.notify == ("new",)
    signed = recognise.read_proof(operator, recognise.sign(operator, read(BOARD), offer))
    recognise.add(operator, signed, channels=[channel])
    saved = SavedSearch.objects.get()
    assert saved.query == f"in:nga/7 type:topic after:{today():%Y-%m-%d}"
    assert (saved.user, list(saved.channels.all())) == (operator, [channel])


def test_member_is_notified_of_a_board_that_is_archived(crawler: Crawler, alice: User) -> None:  # noqa: F811
    offer = look(alice, BOARD)
    assert offer.exists is not None
    [instead] = offer.instead
    found = read(instead.text)
    assert (found.system, found.key) == ("search", "in:nga/7 type:topic")
    assert recognise.make_offer(alice, found).can_add
    assert crawler.board.log.all() == []


def test_author_is_watched_on_the_archived_boards(crawler: Crawler, alice: User) -> None:  # noqa: F811
    address = "https://bbs.nga.cn/nuke.php?func=ucp&uid="
    assert look(alice, f"{address}99").code == "author"
    crawler.board.world.add_topic("[讨论]纸灯笼")
    crawler.crawl()
    requests = len(crawler.board.log.all())
    writer = Thread.objects.get()
    address += str(writer.author_source_user_id)
    offer = look(alice, address)
    assert offer.title == f"NGA author: {writer.author_name}"
    assert [item.title for item in offer.items] == ["[讨论]纸灯笼"]
    [added] = recognise.add(alice, recognise.read_proof(alice, recognise.sign(alice, read(address), offer)))
    assert SavedSearch.objects.get().query == f'in:nga author:"{writer.author_name}"'
    assert added.url.startswith("/search/?q=in%3Anga+author")
    assert len(crawler.board.log.all()) == requests


def test_operator_archives_an_author_whom_nothing_stored_knows(board: NgaBoard, operator: User) -> None:  # noqa: F811
    board.world.add_topic("[讨论]远方", author="灯塔人", fid=-447601)
    uid = board.world.uid_of("灯塔人")
    address = f"https://bbs.nga.cn/nuke.php?func=ucp&uid={uid}"
    offer = look(operator, address)
    assert (offer.title, [item.title for item in offer.items]) == ("NGA author: 灯塔人", ["[讨论]远方"])
    assert [pick.value for pick in offer.picks] == ["follow", "past"]
    recognise.add(operator, recognise.read_proof(operator, recognise.sign(operator, read(address), offer)))
    assert FollowedAuthor.objects.get(pk=uid).past_page_number is None
    assert SavedSearch.objects.get().query == 'in:nga author:"灯塔人"'
    board.faults.on("/thread.php").answer(503)
    failed = look(operator, "https://bbs.nga.cn/nuke.php?func=ucp&uid=77")
    assert (failed.can_add, bool(failed.problem)) == (True, True)


def test_settings_page_shows_the_answer_of_the_forum(board: NgaBoard, operator: User) -> None:  # noqa: F811
    browser = client_of(operator)

    def tested() -> str:
        return squeezed(browser.post("/operations/settings/nga/test/").content.decode())

    board.world.add_topic("[讨论]纸灯笼")
    assert "As a guest, without a cookie: the forum returned 1 topics of board 7." in tested()
    board.faults.on("/thread.php").answer(503)
    requests = len(board.log.all())
    assert "As a guest, without a cookie: board 7 could not be read." in tested()
    assert len(board.log.all()) - requests <= TRIED_REQUESTS
