from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standins.note_platform import shapes
from standins.note_platform.ledger import Ledger
from watchbook.systems.notes.parse import documents
from watchbook.systems.notes.parse.documents import PlatformRefusal, check_envelope, check_status, read_initial_state
from watchbook.systems.notes.parse.note import parse_feed, parse_page, parse_search
from watchbook.systems.notes.parse.records import InvalidNoteAddress, note_address, parse_note_url

NOTE = "66696f98000000000000abcd"


def note(**more):
    return Ledger().add("Lantern / walk", "undefined lights, NaN of them", note_id=NOTE, tags=["灯"], **more)


def body(document):
    return json.dumps(document).encode()


def test_page_and_endpoint_return_the_same_note():
    entry = note(kind="video")
    by_feed = parse_feed(body(shapes.feed(entry)), NOTE)
    by_page = parse_page(shapes.page(entry), NOTE)
    assert by_feed == by_page
    assert by_page.content.startswith("undefined lights, NaN of them"), "words of a note are not JavaScript"
    assert by_page.tags == ("灯",)
    assert [one.kind for one in by_page.media] == ["image", "video"]
    assert by_page.media[1].duration_ms == 12000
    assert by_page.published_at is not None


def test_only_this_very_note_is_taken_from_a_page():
    other = Ledger().add("Another", note_id="66696f980000000000000bad")
    with pytest.raises(PlatformRefusal, match="empty"):
        parse_page(shapes.page(other), NOTE)
    with pytest.raises(PlatformRefusal, match="note_gone"):
        parse_feed(body(shapes.feed(other)), NOTE)


def test_page_without_a_note_shows_the_reason():
    with pytest.raises(PlatformRefusal, match="stale_token"):
        parse_page(shapes.page(None, 300031, "x"), NOTE)
    with pytest.raises(PlatformRefusal, match="note_gone"):
        parse_page(shapes.page(None, -510001, "仅作者可见"), NOTE)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a":undefined,"b":[undefined,1],"undefined":"x"}', {"a": None, "b": [None, 1], "undefined": "x"}),
        ('{"a":NaN,"b":-Infinity,"c":"x undefined NaN"};', {"a": None, "b": None, "c": "x undefined NaN"}),
        ('{"a":"\\u002Fpath\\" undefined"};(function(){})()', {"a": '/path" undefined'}),
    ],
)  # fmt: skip
def test_javascript_in_the_state_becomes_json(text, wanted):
    assert read_initial_state(f"<script>window.__INITIAL_STATE__ = {text}</script>").document == wanted


@pytest.mark.parametrize("html", ["", "<html></html>", "window.__INITIAL_STATE__={", "window.__INITIAL_STATE__={]}"])
def test_page_without_content_is_reported(html):
    with pytest.raises(PlatformRefusal, match="not_readable"):
        read_initial_state(html)


@given(st.text())
def test_no_page_breaks_the_reader(text):
    try:
        parse_page(f"window.__INITIAL_STATE__={{{text}", NOTE)
    except PlatformRefusal:
        pass


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
        ["items", "note_card", "user", "interact_info", "image_list", "video", "media", "stream", "h264", "tag_list",
         "id", "model_type", "desc", "time", "liked_count"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_no_answer_breaks_the_readers(data):
    for read in (lambda raw: parse_feed(raw, NOTE), parse_search):
        try:
            read(body({"code": 0, "success": True, "data": data}))
        except PlatformRefusal:
            pass


def test_search_takes_notes_only_and_the_last_page_counts():
    entry = note(liked="10+")
    items = [shapes.suggestion("x"), shapes.search_item(entry), {"model_type": "live_v2", "id": "a" * 24}, "junk", None]
    page = parse_search(body(shapes.good({"has_more": False, "items": items})))
    [card] = page.cards
    assert (card.note_id, card.title, card.liked.value, card.liked.exact) == (NOTE, "Lantern / walk", 10, False)
    assert card.xsec_token == entry.token
    assert card.published_at is not None
    assert not page.has_more


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"code": -100, "success": False}, documents.LOGIN_DEAD),
        ({"code": 0, "success": False, "msg": "登录已过期"}, documents.LOGIN_DEAD),
        ({"code": 300011, "success": False}, documents.ACCOUNT_RESTRICTED),
        ({"code": 300012, "success": False}, documents.IP_BLOCK),
        ({"code": 300013, "success": False}, documents.IP_BLOCK),
        ({"code": 300015, "success": False}, documents.SIGNATURE),
        ({"code": 300031, "success": False}, documents.STALE_TOKEN),
        ({"code": -510001, "success": False}, documents.NOTE_GONE),
        ({"code": 10013, "success": False}, documents.WALLED),
        ({"code": 5, "success": False, "msg": "?"}, documents.OTHER),
        ({"code": 0, "success": True, "data": {}}, documents.EMPTY),
        ([], documents.NOT_READABLE),
    ],
)
def test_every_refusal_of_the_platform_has_a_code(document, reason):
    with pytest.raises(PlatformRefusal) as caught:
        check_envelope(document)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("status", "headers", "location", "reason"),
    [
        (461, {}, "", documents.CAPTCHA),
        (200, {"verifytype": "102"}, "", documents.CAPTCHA),
        (302, {}, "/website-login/captcha?verifyType=1&verifyBiz=461", documents.CAPTCHA),
        (302, {}, "/login?redirectPath=x", documents.LOGIN_DEAD),
        (302, {}, "/404/sec_a?error_code=300031", documents.STALE_TOKEN),
        (302, {}, "/404", documents.NOTE_GONE),
        (302, {}, "/elsewhere", documents.OTHER),
        (406, {}, "", documents.SIGNATURE),
        (401, {}, "", documents.BLOCKED),
        (403, {}, "", documents.BLOCKED),
        (429, {}, "", documents.THROTTLED),
    ],
)
def test_headers_of_an_answer_count_too(status, headers, location, reason):
    with pytest.raises(PlatformRefusal) as caught:
        check_status(status, headers, location)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (f"https://www.example.com/explore/{NOTE}?xsec_token=AB1=&xsec_source=pc_search", (NOTE, "AB1=", "pc_search")),
        (f"https://www.example.com/discovery/item/{NOTE}", (NOTE, "", "")),
        (f"https://www.example.com/user/profile/5f00/{NOTE}?xsec_token=x", (NOTE, "x", "")),
    ],
)
def test_address_names_a_note(url, wanted):
    found = parse_note_url(url)
    assert (found.note_id, found.xsec_token, found.xsec_source) == wanted


@pytest.mark.parametrize(
    "url", ["", "x", "https://www.example.com/", "ftp://a/explore/1", "https://[/explore/1", "javascript:/explore/1"]
)
def test_other_addresses_do_not(url):
    with pytest.raises(InvalidNoteAddress):
        parse_note_url(url)


@pytest.mark.parametrize("given", [("", ""), ("../x", ""), ("a" * 65, ""), ("ok", "with space"), ("ok", "x" * 501)])
def test_ids_and_tokens_are_bounded(given):
    with pytest.raises(InvalidNoteAddress):
        note_address(*given)
