"""Adding a note by its link: share texts, short links, a preview when an adapter can read it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from standins.note_platform import NotePlatform
from standins.server import Answer
from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.core.sources import recognise
from watchbook.core.sources.records import AddError, Found, Offer
from watchbook.systems.notes.fetch.short_links import follow_short_link
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, Keyword, Note
from watchbook.systems.notes.store.candidates import FoundNote, decrypt_token, store_found
from watchbook.systems.notes.tests.data import offer as offer_notes

pytestmark = pytest.mark.django_db


def read(text: str, system: str = "") -> Found:
    found = recognise.recognise(text, system).found
    assert found is not None
    return found


def look(user: User, found: Found) -> Offer:
    return recognise.make_offer(user, found)


def add(user: User, found: Found) -> str:
    return recognise.add(user, recognise.read_proof(user, recognise.sign(user, found, look(user, found))))[0].url


def test_share_text_is_previewed_and_added_once(
    platform: NotePlatform, pool: Callable[..., str], operator: User
) -> None:
    pool()
    note = platform.add("Lantern walk", "Lights along the river.")
    link = f"https://www.xiaohongshu.com/explore/{note.note_id}?xsec_token={note.token}"
    found = read(f"【Lantern walk】 😆 {link} 复制本条信息")
    offer = look(operator, found)
    assert [item.title for item in offer.items] == ["Lantern walk"]
    assert (offer.can_add, Candidate.objects.count()) == (True, 0)
    add(operator, found)
    assert Candidate.objects.get().note_id == note.note_id
    assert look(operator, found).code == "exists"


def test_note_can_be_added_without_adapter(operator: User) -> None:
    found = read("https://www.xiaohongshu.com/discovery/item/66f0c1d2?xsec_token=AB12")
    offer = look(operator, found)
    assert (offer.can_add, offer.items, offer.requests_made) == (True, (), 0)
    assert "No adapter is enabled" in offer.problem
    assert add(operator, found) == "/notes/?q=66f0c1d2"


def test_short_link_is_followed_to_the_note(platform: NotePlatform) -> None:
    target = "https://www.xiaohongshu.com/discovery/item/66f0c1d2?xsec_token=AB12"
    platform.route("/a/Abc123", lambda _request: Answer.redirect(target, 302))
    assert follow_short_link(platform.address("/a/Abc123")) == target


def test_keyword_becomes_a_keyword_of_the_platform_when_chosen(operator: User) -> None:
    found = read("paper lantern", "notes")
    assert add(operator, found) == "/notes/keywords/"
    assert Keyword.objects.get().keyword == "paper lantern"
    assert look(operator, found).code == "exists"


def test_member_without_permission_may_not_add(platform: NotePlatform, alice: User, operator: User) -> None:
    found = read("https://www.xiaohongshu.com/explore/66f0c1d2")
    assert look(alice, found).code == "not_allowed"
    assert platform.log.all() == []
    with pytest.raises(AddError):
        add(alice, found)


@pytest.mark.parametrize(
    "path", ["search_result", "explore", "discovery/item", "user/profile/5f00000000000000000000aa"]
)
@pytest.mark.parametrize("host", ["www.xiaohongshu.com", "www.rednote.com"])
def test_every_form_of_a_note_address_is_recognised_with_its_token(operator: User, path: str, host: str) -> None:
    found = read(f"看这个 https://{host}/{path}/66f0c1d2?xsec_token=AB12&xsec_source=pc_search 复制后打开")
    assert (found.kind, found.title) == ("note", "Note 66f0c1d2")
    add(operator, found)
    assert decrypt_token(Candidate.objects.get()) == "AB12"


def test_source_link_opens_with_the_newest_token_and_no_page_shows_it(
    platform: NotePlatform, pool: Callable[..., str], alice: User
) -> None:
    pool()
    note = platform.add("Lantern")
    offer_notes(note)
    collect()
    note.renew_token()
    store_found([FoundNote(note.note_id, "xhs", xsec_token=note.token, xsec_source="pc_search")], clock.now())
    client = client_of(alice)
    assert note.token not in client.get(f"/notes/note/{note.note_id}/").content.decode()
    opened = client.get(f"/notes/note/{note.note_id}/source/")
    assert opened.headers["Location"].startswith(f"{platform.url}/explore/{note.note_id}?xsec_token=")
    assert opened.headers["Referrer-Policy"] == "no-referrer"
    Note.objects.update(note_url="https://elsewhere.example.com/x")
    assert client.get(f"/notes/note/{note.note_id}/source/").headers["Location"] == "https://elsewhere.example.com/x"
