"""What recorded answers looked like, with made-up words in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from watchbook.sources.reddit.parse import NotAListing, parse_listing, text_norm_hash
from watchbook.sources.reddit.parse.normal import normal

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


def test_the_fields_of_every_year():
    post = one()
    assert post.created_at == datetime(2026, 3, 2, 4, 0, tzinfo=UTC)  # created_utc; `created` is eight hours off
    assert (post.post_id, post.fullname, post.text, post.url) == ("abc12", "t3_abc12", "Copper.", "")
    assert post.removed_by_category == ""  # absent before 2019


@pytest.mark.parametrize(
    ("edited", "wanted"), [(False, None), (True, None), (1772424060.0, datetime(2026, 3, 2, 4, 1, tzinfo=UTC))]
)
def test_edited_is_false_true_or_a_moment(edited, wanted):
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
def test_removed_and_deleted_are_states_and_not_texts(fields, wanted):
    post = one(**fields)
    assert (post.text, post.removed_by_category, post.author_deleted) == wanted
    assert bool(post.text_norm_hash) == (post.text is not None)


def test_a_deleted_account_has_no_name():
    assert one(author="[deleted]").author == ""


def test_an_id_that_is_twice_counts_once_and_other_things_are_passed_over():
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
def test_what_is_no_listing_of_posts_is_never_an_empty_one(body):
    with pytest.raises(NotAListing):
        parse_listing(body)


def test_an_empty_listing_is_one():
    assert parse_listing(page()).posts == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"created_utc": None}, {"created_utc": True}, {"created_utc": 1e300}, {"created_utc": -5.0}, {"title": None},
        {"id": "../x"}, {"id": 5}, {"id": "a" * 40}, {"score": float("nan")},
    ],
)  # fmt: skip
def test_a_post_that_makes_no_sense_is_left_out(fields):
    listing = parse_listing(page({}, {"id": "other", **fields}))
    assert [post.post_id for post in listing.posts][:1] == ["abc12"]
    assert len(listing.posts) + listing.skipped == 2


def test_hostile_values_fit_a_database():
    post = one(
        title="a\x00b" * 2000, selftext="\ud800\x00", score=10**30, num_comments=-(10**30), upvote_ratio=float("inf")
    )
    assert "\x00" not in post.title + (post.text or "")
    assert len(post.title) <= 1000
    assert (post.score, post.num_comments) == (2**31 - 1, -(2**31))
    assert "upvote_ratio" not in post.extra_data
    json.dumps(dict(post.extra_data), allow_nan=False)


def test_texts_that_look_alike_are_one_text():
    looks = [
        "A  lantern\r\nof copper",
        "A lantern\nof copper",
        "A&#x200B; lantern of copper",
        "\ufeffA lantern\u00a0of copper",
    ]
    assert len({normal(text) for text in looks}) == 1
    assert normal("&amp;lt;") == "&lt;"  # once, not twice


def test_link_posts_without_text_do_not_collapse():
    first = text_norm_hash("Look", "", "https://example.org/1")
    assert first != text_norm_hash("Look", "", "https://example.org/2")
    assert first != text_norm_hash("Look", "https://example.org/1", "")
