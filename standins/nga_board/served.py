"""What the board has truly given out, request by request: the ground on which an archive is judged."""

from __future__ import annotations

from dataclasses import dataclass

from standins.nga_board.records import NOTE, Post, Topic


@dataclass(frozen=True)
class Shown:
    """A floor as an answer showed it. Without a source: a note's floor, whose text stands elsewhere."""

    lou: int
    pid: int
    author: str
    uid: int | None
    posted_at: int
    source: str | None
    subject: str
    edited_at: int | None
    is_deleted: bool
    is_folded: bool
    is_note: bool
    files: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Served:
    """One request that was answered in good order. `at` is the world's time, `run` the run that the test began."""

    number: int
    at: int
    run: int
    kind: str
    ident: int
    page: int
    form: str
    total: int = 0
    title: str = ""
    expected: tuple[int, ...] = ()
    floors: tuple[Shown, ...] = ()
    notes: tuple[Shown, ...] = ()
    """Notes that were shown under their posts; their own floors may be on any page."""


def shown(topic: Topic, post: Post, *, with_text: bool) -> Shown:
    labels = topic.poll.split("~") if topic.poll and post.lou == 0 else []
    return Shown(
        lou=post.lou,
        pid=post.pid,
        author=post.shown_author,
        uid=None if post.token else post.uid,
        posted_at=post.posted_at,
        source=post.source if with_text else None,
        subject=post.subject if post.lou else "",
        edited_at=post.content.edited_at,
        is_deleted=post.is_deleted,
        is_folded=post.is_folded,
        is_note=bool(post.type & NOTE),
        files=tuple(file.path for file in post.attachments if file.path not in post.source),
        labels=tuple(labels[at + 1] for at in range(0, len(labels) - 1, 2) if labels[at].isdigit()),
    )


def served_topic(number: int, at: int, run: int, topic: Topic, page: int, form: str) -> Served:
    posts, is_html = topic.shown_on(page), form == "html"
    under = [note for post in posts for note in topic.notes_of(post.pid) if not note.is_absent]
    return Served(
        number=number,
        at=at,
        run=run,
        kind="topic",
        ident=topic.tid,
        page=page,
        form=form,
        total=topic.total,
        title=topic.title,
        expected=tuple(topic.floors_of_page(page)),
        floors=tuple(shown(topic, post, with_text=is_html or post.parent is None) for post in posts),
        notes=() if is_html else tuple(shown(topic, note, with_text=True) for note in under),
    )
