"""The text of a notification in chat and push, from the same letter as its e-mail.

Line 1 is the subject, because a lock screen shows nothing else. Then come a few items as title with link, then how many
more there are, then one link. What a service does not accept as markup is escaped; a text is cut at a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from watchbook.base.text import cut
from watchbook.core.notify.message import Message
from watchbook.kit.letter import Item, Letter

SUBJECT_LENGTH, TITLE_LENGTH, LINE_LENGTH = 80, 200, 500
ITEMS, DIGEST_ITEMS, LINES = 5, 10, 12
# Room for "and N more" and the line breaks around it.
SPARE = 60


def _same(text: str) -> str:
    return text


@dataclass(frozen=True)
class Markup:
    """How a service writes bold, struck and linked text; `link` is formatted with text and url."""

    escape: Callable[[str], str] = _same
    bold: str = "{}"
    strike: str = "{}"
    link: str = "{text} {url}"
    escape_url: Callable[[str], str] = _same
    measure: Callable[[str], int] = len

    def linked(self, text: str, url: str) -> str:
        shown = self.escape(text)
        return self.link.format(text=shown, url=self.escape_url(url)).strip() if url else shown


def utf8_length(text: str) -> int:
    return len(text.encode())


PLAIN = Markup()
BYTES = Markup(measure=utf8_length)
# Push shows no addresses: a tap opens the notification.
TITLES = Markup(link="{text}", measure=utf8_length)


def compose(message: Message, limit: int, markup: Markup = PLAIN) -> str:
    """Return subject, items and link within `limit`."""
    first = markup.bold.format(markup.escape(short_subject(message.subject)))
    last = [markup.linked(link_text(message), message.link)] if message.link else []
    room = limit - markup.measure("\n".join([first, *last])) - SPARE
    return "\n".join([first, *body_lines(message, room, markup), *last])


def short_subject(subject: str) -> str:
    """At most 80 characters; the name before the colon is cut first, because the event comes after it."""
    if len(subject) <= SUBJECT_LENGTH:
        return subject
    name, colon, event = subject.partition(": ")
    room = SUBJECT_LENGTH - len(colon) - len(event)
    return f"{cut(name, room)}{colon}{event}" if colon and room >= 8 else cut(subject, SUBJECT_LENGTH)


def link_text(message: Message) -> str:
    letter = message.letter
    return letter.button.text if letter and letter.button else _("Open in Watchbook")


def body_lines(message: Message, room: int, markup: Markup = PLAIN) -> list[str]:
    """Return the lines that fit, then how many items are missing."""
    letter = message.letter
    most = DIGEST_ITEMS if message.type == "notify.digest" else ITEMS
    if letter is None or not letter.items:
        blocks, missing = _text_blocks(message, letter, markup)
    else:
        blocks = [_block(item, markup) for item in letter.items[:most]]
        missing = letter.more + len(letter.items) - len(blocks)
    kept: list[str] = []
    for number, block in enumerate(blocks):
        room -= markup.measure(block) + 1
        if room < 0:
            missing += len(blocks) - number
            break
        kept.append(block)
    if missing:
        kept.append(_("and %(count)s more") % {"count": f"{missing:,}"})
    return kept


def _text_blocks(message: Message, letter: Letter | None, markup: Markup) -> tuple[list[str], int]:
    """Return the lines of a notification that lists no items, and how many are not among them."""
    lines = list(_sentences(letter)) if letter else message.text.splitlines()
    wanted = [line for line in lines if line.strip() and line != message.subject]
    return [markup.escape(cut(line, LINE_LENGTH)) for line in wanted[:LINES]], max(0, len(wanted) - LINES)


def _sentences(letter: Letter) -> Iterator[str]:
    yield from letter.lead
    yield from (f"{title} {text}".strip() for title, text in letter.paragraphs)


def _block(item: Item, markup: Markup) -> str:
    title = cut(item.title, TITLE_LENGTH)
    shown = (
        markup.strike.format(markup.escape(title)) if item.is_removed else markup.linked(title, item.url or item.here)
    )
    # Of a changed page the address says nothing new; of a match its place and its author do.
    around = [] if item.sign else [item.note, item.side, str(item.counts)]
    first = " · ".join(part for part in (shown, *map(markup.escape, around)) if part)
    first = f"{item.sign} {first}" if item.sign else first
    second = [_excerpt(item, markup)] if item.excerpt else []
    if item.url and item.here and not item.sign and markup.link != TITLES.link:
        second.append(markup.linked("Watchbook", item.here))
    return "\n".join([first, " · ".join(second)] if second else [first])


def _excerpt(item: Item, markup: Markup) -> str:
    pieces = (
        markup.bold.format(markup.escape(" ".join(piece.text.split())))
        if piece.is_match
        else markup.escape(piece.text.replace("\n", " "))
        for piece in item.excerpt
    )
    return "“" + "".join(pieces).strip() + "”"
