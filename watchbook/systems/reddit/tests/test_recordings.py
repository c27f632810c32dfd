"""Recorded listings of Reddit, parsed, stored, exported and compared with the recording.

Recordings hold texts of real people and are not in the repository: WATCHBOOK_TEST_RECORDINGS names a folder whose
`reddit/*.json` files are listings as they were sent. Of an item that was recorded more than once the first counts.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from watchbook.base.text import clean_text, cut
from watchbook.systems.reddit.models import FoundBy
from watchbook.systems.reddit.parse import parse_listing
from watchbook.systems.reddit.store.decide import Reading
from watchbook.systems.reddit.store.kinds import OF_COMMENTS, OF_POSTS
from watchbook.systems.reddit.tests.conftest import START
from watchbook.systems.reddit.tests.pages import reader

__all__ = ["reader"]
FOLDER = Path(os.environ.get("WATCHBOOK_TEST_RECORDINGS") or "/nonexistent") / "reddit"
pytestmark = [pytest.mark.django_db, pytest.mark.skipif(not FOLDER.is_dir(), reason="There are no recordings here.")]
KINDS = {"t3": OF_POSTS, "t1": OF_COMMENTS}
PLACEHOLDERS = {"[removed]", "[deleted]", "[ Removed by Reddit ]", "[deleted by user]"}
PAGE = 100


def recorded() -> dict[str, dict[str, Any]]:
    """Posts and comments by their names, as they were sent; promoted posts and copies in an inbox are none."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        for child in json.loads(path.read_text("utf-8"))["data"]["children"]:
            data = child["data"]
            is_other = data.get("promoted") or data.get("was_comment") or not isinstance(data.get("subreddit"), str)
            if child["kind"] in KINDS and not is_other:
                found.setdefault(f"{child['kind']}_{data['id']}", child)
    return found


def store(things: dict[str, dict[str, Any]]) -> None:
    """Page by page, as a crawl of one community that lists everything would."""
    reading = Reading("r/recorded", START, FoundBy.NEW, is_new_listing=True)
    for kind, listing in KINDS.items():
        children = [child for child in things.values() if child["kind"] == kind]
        for begin in range(0, len(children), PAGE):
            page = {"children": children[begin : begin + PAGE], "after": None, "before": None}
            parsed = parse_listing(json.dumps({"kind": "Listing", "data": page}).encode())
            with transaction.atomic():
                listing.store(parsed.items, reading)


def exported(reader: Any, path: str) -> list[dict[str, Any]]:
    answer = reader.get(path, {"format": "jsonl"})
    assert answer.status_code == 200
    return [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]


def test_exports_of_recorded_listings_equal_the_recording(reader, monkeypatch) -> None:
    monkeypatch.setenv("REDDIT_MEDIA", "off")
    things = recorded()
    store(things)
    posts = {f"t3_{row['source_post_id']}": row for row in exported(reader, "/api/v1/reddit/posts")}
    comments = {f"t1_{row['comment_id']}": row for row in exported(reader, "/api/v1/reddit/comments")}
    assert {**posts, **comments}.keys() == things.keys()
    for name, row in posts.items():
        _compare(row, things[name]["data"], "selftext", ("score", "num_comments"))
    for name, row in comments.items():
        _compare(row, things[name]["data"], "body", ("score", "parent_id"))
        assert f"t3_{row['post_id']}" == things[name]["data"]["link_id"]
    print(f"{len(posts)} posts and {len(comments)} comments equal the recording")
    assert posts
    assert comments


def _compare(row: dict[str, Any], sent: dict[str, Any], text: str, same: tuple[str, ...]) -> None:
    name = sent["id"]
    assert {key: row[key] for key in same} == {key: sent[key] for key in same}, name
    assert datetime.fromisoformat(row["created_at"]).timestamp() == sent["created_utc"], name
    assert row["author"] == ("" if sent.get("author") in ("[deleted]", None) else sent["author"]), name
    title = sent.get("title", "").strip()
    if sent[text].strip() in PLACEHOLDERS or title in PLACEHOLDERS:
        assert row["removed_by_category"] or row["author_deleted"], name
        assert row["content"] == "", name
        return
    assert row["content"] == clean_text(sent[text]), name
    # Control characters are left out, as everywhere.
    assert row.get("title", "").strip() == cut(title, 1000), name
