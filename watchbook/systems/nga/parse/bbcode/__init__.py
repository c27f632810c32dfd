"""The forum's BBCode to safe HTML: one pass, bounded depth, no text lost, tags that are not known stay text."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from watchbook.systems.nga.parse.bbcode import tokens as kinds
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.builder import Builder, clean
from watchbook.systems.nga.parse.bbcode.quick import quick
from watchbook.systems.nga.parse.bbcode.tags import KNOWN, Dice, Media, image, link, shown
from watchbook.systems.nga.parse.bbcode.tokens import Token, tokens
from watchbook.systems.nga.parse.records import AttachmentRecord, PollRecord
from watchbook.systems.nga.parse.values import lines, whole_characters

__all__ = ["NO_EXTRAS", "Extras", "Place", "render", "render_lines"]

# A post of the site is far smaller. What is larger keeps its text and loses its looks.
LONGEST = 1_000_000
MOST_TAGS = 60_000


class Place(NamedTuple):
    """Position of a post, on which its dice and addresses depend."""

    addresses: Addresses = Addresses()
    tid: int = 0
    pid: int = 0
    author_id: int | None = None


class Extras(NamedTuple):
    """Heading, attachments and poll around the text."""

    subject: str = ""
    attachments: tuple[AttachmentRecord, ...] = ()
    poll: PollRecord | None = None


NO_EXTRAS = Extras()


def render(source: str, place: Place | None = None, extras: Extras | None = None) -> str:
    """Render BBCode as safe HTML."""
    return render_lines(lines(whole_characters(source)), place or Place(), extras or NO_EXTRAS)


def render_lines(source: str, place: Place, extras: Extras) -> str:
    """The same of a text that is whole and has line feeds already."""
    if extras is NO_EXTRAS:
        return clean(_body(source, place))
    head = f"<h4>{escape(extras.subject)}</h4>" if extras.subject else ""
    return clean(head + _body(source, place) + _poll(extras.poll) + _files(extras.attachments))


def _body(source: str, place: Place) -> str:
    if len(source) > LONGEST:
        return shown(source).replace("\n", "<br>")
    # A single character is found several times as fast as three.
    may_have_headings = ("=" in source and "===" in source) or ("-" in source and "---" in source)
    made = None if may_have_headings else quick(source, place.addresses)
    return _built(source, place) if made is None else made


def _built(source: str, place: Place) -> str:
    builder = Builder(place.addresses)
    media = Media(place.addresses, Dice(author_id=place.author_id, tid=place.tid, pid=place.pid))
    for count, token in enumerate(tokens(source, KNOWN)):
        if token.kind == kinds.TEXT or count > MOST_TAGS:
            builder.text(token.text)
        elif token.kind == kinds.OPEN:
            builder.open(token)
        elif token.kind == kinds.CLOSE:
            builder.close(token)
        elif token.kind == kinds.ITEM:
            builder.item(token)
        else:
            _piece(token, builder, media)
    return builder.finish()


def _piece(token: Token, builder: Builder, media: Media) -> None:
    if token.kind == kinds.SMILEY:
        html, is_block = media.smiley(token), False
    elif token.kind == kinds.MENTION:
        html, is_block = (None if builder.is_in_link() else media.mention(token)), False
    else:
        found = media.raw(token, block=builder.collapse, in_link=builder.is_in_link())
        html, is_block = found if found else (None, False)
    if html is None:
        builder.text(token.text)
    else:
        builder.html(html, is_block=is_block)


def _poll(poll: PollRecord | None) -> str:
    if poll is None:
        return ""
    return '<ul class="bb-poll">' + "".join(f"<li>{escape(label)}</li>" for label, _ in poll.options) + "</ul>"


def _files(files: tuple[AttachmentRecord, ...]) -> str:
    if not files:
        return ""
    shown_files = (
        image(file.url, file.name) if file.kind == "img" else link(file.url, file.name or file.path) for file in files
    )
    return '<ul class="bb-files">' + "".join(f"<li>{file}</li>" for file in shown_files) + "</ul>"
