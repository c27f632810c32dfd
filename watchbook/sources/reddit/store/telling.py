"""What others hear of posts: search documents of texts, stream entries of what happened to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from watchbook.core.search import index
from watchbook.core.stream.record import Entry, record
from watchbook.sources.reddit.models import FoundBy
from watchbook.sources.reddit.places import community_path, post_path
from watchbook.sources.reddit.store.deciding import Decision, Step

if TYPE_CHECKING:
    from watchbook.sources.reddit.store.posts import Reading

SYSTEM, KIND, SCOPE = "reddit", "reddit_post", "members"


def tell_posts(decisions: Sequence[Decision], reading: Reading) -> None:
    worded = [one for one in decisions if one.record.text is not None and one.step not in (Step.SAME, Step.HIDDEN)]
    if worded:
        index.put(_document(one, reading.community_of(one.record)) for one in worded)
    entries = list(_entries(decisions, reading))
    if entries:
        record(entries)


def _document(one: Decision, community: str) -> index.Document:
    post = one.record
    return index.Document(
        kind=KIND,
        object_id=post.post_id,
        scope=SCOPE,
        title=post.title,
        body="\n".join(filter(None, (community, post.text, post.url))),
        url_path=post_path(post.post_id),
        occurred_at=post.created_at,
        source=SYSTEM,
    )


def _entries(decisions: Sequence[Decision], reading: Reading) -> Iterator[Entry]:
    """Per visit one line for all that is new, and one for each post that changed its text or its state."""
    new = sum(one.step is Step.NEW for one in decisions)
    if new and reading.found_by != FoundBy.BASELINE:
        yield Entry(
            source=SYSTEM, kind="posted", title=reading.community, summary=f"+{new}",
            url_path=community_path(reading.community), scope=SCOPE, object_kind="reddit_community",
            object_id=reading.community, occurred_at=reading.now, data={"added": new},
            event_key=f"{reading.found_by}:{reading.now:%Y%m%dT%H%M%S%f}",
        )  # fmt: skip
    for one in decisions:
        kind = _kind(one)
        if kind:
            yield _entry(one, kind, reading)


def _kind(one: Decision) -> str:
    if one.step is Step.NEW:
        return ""
    if one.record.is_gone != one.was_gone:
        return "removed" if one.record.is_gone else "restored"
    return "edited" if one.step in (Step.CHANGED, Step.RETURNED) else ""


def _entry(one: Decision, kind: str, reading: Reading) -> Entry:
    post, community = one.record, reading.community_of(one.record)
    by = post.removed_by_category or ("author" if post.author_deleted else "")
    key = f"v{one.version}" if kind == "edited" else f"{reading.now:%Y%m%dT%H%M%S}"
    return Entry(
        source=SYSTEM, kind=kind, title=community if kind == "removed" else post.title,
        summary=f"{community} {by}".strip(), url_path=post_path(post.post_id), scope=SCOPE, object_kind=KIND,
        object_id=post.post_id, occurred_at=reading.now, data={"community": community}, event_key=key,
    )  # fmt: skip
