"""One page of search hits. What is not a note (suggested searches, live rooms) is left out."""

from __future__ import annotations

from typing import Any

from watchbook.sources.notes.parse.addresses import NOTE_ID, TOKEN
from watchbook.sources.notes.parse.counts import parse_count
from watchbook.sources.notes.parse.documents import read_json
from watchbook.sources.notes.parse.moments import moment_of_id
from watchbook.sources.notes.parse.note import NAME, TITLE, as_dict, as_dicts, as_text, first_of
from watchbook.sources.notes.parse.records import CardRecord, SearchPage
from watchbook.sources.notes.parse.signals import NOT_READABLE, PlatformRefusal, check_envelope

MOST_CARDS = 100


def parse_search(body: bytes) -> SearchPage:
    """The last page may carry hits, too: has_more says nothing about this one."""
    data = check_envelope(read_json(body))
    items = data.get("items", [])
    if not isinstance(items, list):
        raise PlatformRefusal(NOT_READABLE, "items is not a list")
    cards = [card for item in as_dicts(items)[:MOST_CARDS] if (card := _card(item)) is not None]
    return SearchPage(tuple(cards), bool(data.get("has_more")))


def _card(item: dict[str, Any]) -> CardRecord | None:
    card, note_id = as_dict(item.get("note_card")), item.get("id")
    if item.get("model_type") != "note" or not card or not isinstance(note_id, str) or not NOTE_ID.match(note_id):
        return None
    user, token = as_dict(card.get("user")), item.get("xsec_token")
    return CardRecord(
        note_id=note_id,
        xsec_token=token if isinstance(token, str) and TOKEN.match(token) else "",
        note_type="video" if card.get("type") == "video" else "normal",
        title=as_text(first_of(card, "display_title", "title"), TITLE),
        author_id=as_text(first_of(user, "user_id", "userId"), 64),
        author_name=as_text(first_of(user, "nickname", "nick_name"), NAME),
        liked=parse_count(as_dict(card.get("interact_info")).get("liked_count")),
        published_at=moment_of_id(note_id),
    )
