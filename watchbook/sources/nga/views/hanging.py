"""Notes and the posts they hang under, for the floors of one page. One query more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchbook.sources.nga.models import NoteParent, Post, Thread

# A page has twenty posts; nobody reads on after so many notes under them, and each is a floor of its own anyway.
MOST_NOTES = 400


@dataclass(frozen=True)
class Hanging:
    """Floors by post id: those of the page, and those on other pages that hang under them or have notes among them."""

    here: frozenset[int]
    posts: dict[int, Post]

    def parent_of(self, post: Post) -> Post | None:
        return self.posts.get(_parent(post))

    def notes_of(self, post: Post) -> list[Post]:
        found = [note for note in self.posts.values() if _parent(note) == post.source_post_id]
        return sorted(found, key=lambda note: note.floor_number)

    @property
    def elsewhere(self) -> list[Post]:
        """Notes under posts of the page whose own floors are on other pages."""
        return [post for pid, post in self.posts.items() if pid not in self.here and _parent(post) in self.here]


def hanging_of(thread: Thread, posts: Sequence[Post]) -> Hanging:
    """`posts` know their parents (`with_parents`)."""
    here = {post.source_post_id: post for post in posts}
    known = NoteParent.objects.filter(thread=thread).order_by()
    notes = known.filter(parent_source_post_id__in=here).values_list("source_post_id")
    parents = known.filter(source_post_id__in=here).values_list("parent_source_post_id")
    others = Post.objects.filter(thread=thread, source_post_id__in=notes.union(parents)).with_parents()
    found = {post.source_post_id: post for post in others.order_by("source_post_id")[:MOST_NOTES]}
    return Hanging(frozenset(here), found | here)


def _parent(post: Post) -> int:
    parent: int | None = post.parent_source_post_id  # type: ignore[attr-defined]
    return -1 if parent is None else parent
