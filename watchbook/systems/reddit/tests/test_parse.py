"""Parsing of recorded response shapes, with made-up text."""

from __future__ import annotations

import html
import json
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.systems.reddit.parse.listings import _INVISIBLE, NotAListing, normal, parse_listing, text_norm_hash

ALWAYS = {
    "id": "abc12", "name": "t3_abc12", "subreddit": "webdev", "title": "A lantern", "selftext": "Copper.",
    "created_utc": 1772424000.0, "created": 1772452800.0, "score": 3, "num_comments": 1, "author": "made-up",
    "edited": False, "is_self": True, "stickied": False, "url": "https://www.reddit.com/r/webdev/comments/abc12/",
}  # fmt: skip


def page(*posts, after=None, **more):
    children = [post if "kind" in post else {"kind": "t3", "data": {**ALWAYS, **post}} for post in posts]
    return json.dumps({"kind": "Listing", "data": {"after": after, "children": children, **more}}).encode()


def one(**fields):
    (post,) = parse_listing(page(fields)).posts
    return post


def test_required_fields_are_parsed():
    post = one()
    assert post.created_at == datetime(2026, 3, 2, 4, 0, tzinfo=UTC)  # created_utc; `created` is eight hours off
    assert (post.post_id, post.fullname, post.text, post.url) == ("abc12", "t3_abc12", "Copper.", "")
    assert post.removed_by_category == ""  # absent before 2019


@pytest.mark.parametrize(
    ("edited", "wanted"), [(False, None), (True, None), (1772424060.0, datetime(2026, 3, 2, 4, 1, tzinfo=UTC))]
)
def test_edited_is_false_true_or_a_time(edited, wanted):
    assert one(edited=edited).edited_at == wanted


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"selftext": "[removed]", "removed_by_category": "moderator"}, (None, "moderator", False)),
        ({"selftext": "[removed]"}, (None, "moderator", False)),
        ({"selftext": "[deleted]", "author": "[deleted]"}, (None, "", True)),
        ({"selftext": "[deleted]", "removed_by_category": "author"}, (None, "", True)),
        ({"removed_by_category": "deleted", "selftext": "[deleted]"}, (None, "", True)),
        ({"removed_by_category": "anti_evil_ops"}, ("Copper.", "anti_evil_ops", False)),
        ({"selftext": "", "is_self": False, "removed_by_category": "reddit"}, ("", "reddit", False)),
        ({"author": "[deleted]"}, ("Copper.", "", False)),
    ],
)
def test_removed_and_deleted_are_states(fields, wanted):
    post = one(**fields)
    assert (post.text, post.removed_by_category, post.author_deleted) == wanted
    assert bool(post.text_norm_hash) == (post.text is not None)


def test_deleted_account_has_no_author():
    assert one(author="[deleted]").author == ""


def test_repeated_and_foreign_entries_are_skipped():
    promoted = {"kind": "t3", "data": {**ALWAYS, "id": "ad", "promoted": True}}
    nameless = {"kind": "t3", "data": {name: value for name, value in ALWAYS.items() if name != "subreddit"}}
    comment = {"kind": "t1", "data": {"id": "c1", "body": "…"}}
    listing = parse_listing(page({}, {"id": "def34"}, {}, promoted, nameless, comment, after="t3_def34"))
    assert [post.post_id for post in listing.posts] == ["abc12", "def34"]
    assert (listing.repeated, listing.skipped, listing.after) == (1, 3, "t3_def34")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>busy</html>", b"[]", b"{}", b'{"kind": "Listing"}', b'{"kind": "Listing", "data": {}}',
        b'{"message": "Forbidden", "error": 403}', b"[" * 100_000,
        page({"kind": "t5", "data": {"display_name": "webdev"}}),
    ],
)  # fmt: skip
def test_other_response_is_never_an_empty_listing(body):
    with pytest.raises(NotAListing):
        parse_listing(body)


def test_empty_listing_has_no_posts():
    assert parse_listing(page()).posts == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"created_utc": None}, {"created_utc": True}, {"created_utc": 1e300}, {"created_utc": -5.0}, {"title": None},
        {"id": "../x"}, {"id": 5}, {"id": "a" * 40}, {"score": float("nan")},
    ],
)  # fmt: skip
def test_invalid_post_is_skipped_and_counted(fields):
    listing = parse_listing(page({}, {"id": "other", **fields}))
    assert [post.post_id for post in listing.posts][:1] == ["abc12"]
    assert len(listing.posts) + listing.skipped == 2


def test_hostile_values_fit_the_database():
    post = one(
        title="a\x00b" * 2000, selftext="\ud800\x00", score=10**30, num_comments=-(10**30), upvote_ratio=float("inf")
    )
    assert "\x00" not in post.title + (post.text or "")
    assert len(post.title) <= 1000
    assert (post.score, post.num_comments) == (2**31 - 1, -(2**31))
    assert "upvote_ratio" not in post.extra_data
    json.dumps(dict(post.extra_data), allow_nan=False)


def test_equal_looking_texts_have_one_hash():
    looks = [
        "A  lantern\r\nof copper",
        "A lantern\nof copper",
        "A&#x200B; lantern of copper",
        "\ufeffA lantern\u00a0of copper",
    ]
    assert len({normal(text) for text in looks}) == 1
    assert normal("&amp;lt;") == "&lt;"  # once, not twice


def test_link_posts_without_text_have_different_hashes():
    first = text_norm_hash("Look", "", "https://example.org/1")
    assert first != text_norm_hash("Look", "", "https://example.org/2")
    assert first != text_norm_hash("Look", "https://example.org/1", "")


TEXTS = st.text(st.sampled_from(" \t\n\x1cab&;<lamp\u200b\u3000é灯")) | st.text()


@given(TEXTS)
def test_normal_form_shortcuts_equal_the_full_form(text):
    unpacked = html.unescape(text).translate(_INVISIBLE)
    assert normal(text) == " ".join(unicodedata.normalize("NFKC", unpacked).split())


PARENT = {
    "id": "parent1",
    "subreddit": "lamps",
    "title": "The lamp",
    "selftext": "Text of the parent",
    "author": "made-up",
}


def test_crosspost_keeps_the_text_of_its_parent():
    post = one(selftext="", is_self=False, crosspost_parent="t3_parent1", crosspost_parent_list=[PARENT])
    kept = post.extra_data["crosspost"]
    assert (kept["subreddit"], kept["title"], kept["text"]) == ("lamps", "The lamp", "Text of the parent")


@pytest.mark.parametrize(
    "parent", [{"selftext": "[removed]"}, {"title": "[deleted by user]"}, {"removed_by_category": "x"}]
)
def test_removed_parent_of_crosspost_is_not_kept(parent):
    assert "crosspost" not in one(crosspost_parent_list=[{**PARENT, **parent}]).extra_data


def test_gallery_keeps_pictures_in_order_with_captions():
    post = one(
        is_gallery=True,
        gallery_data={"items": [{"media_id": "b", "caption": "Second"}, {"media_id": "a"}, {"media_id": "gone"}]},
        media_metadata={
            "a": {
                "status": "valid",
                "e": "Image",
                "s": {"u": "https://preview.redd.it/a.jpg?x=1&amp;s=2", "x": 1, "y": 1},
            },
            "b": {"status": "valid", "e": "AnimatedImage", "s": {"gif": "https://i.redd.it/b.gif"}},
            "gone": {"status": "failed"},
        },
    )
    assert post.extra_data["gallery"] == [
        {"url": "https://i.redd.it/b.gif", "caption": "Second"},
        {"url": "https://preview.redd.it/a.jpg?x=1&s=2", "caption": ""},
        {"url": "", "caption": ""},
    ]


def test_poll_keeps_options_and_votes():
    poll = {
        "total_vote_count": 7,
        "options": [{"id": "1", "text": "Copper", "vote_count": 5}, {"id": "2", "text": "Brass"}],
    }
    assert one(poll_data=poll).extra_data["poll"] == {
        "options": [{"text": "Copper", "votes": 5}, {"text": "Brass", "votes": None}],
        "total": 7,
    }


@pytest.mark.parametrize(
    "fields",
    [{"crosspost_parent_list": "x"}, {"crosspost_parent_list": [3]},
     {"gallery_data": {"items": [1]}, "media_metadata": {}},
     {"gallery_data": None, "media_metadata": None}, {"poll_data": {"options": {}}}, {"poll_data": []}],
)  # fmt: skip
def test_odd_media_fields_do_not_lose_the_post(fields):
    assert one(**fields).text == "Copper."
