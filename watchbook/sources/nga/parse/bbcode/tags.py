"""What each tag becomes. Looks are classes, never styles: pages allow no inline style."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from watchbook.sources.nga.parse.anonymous import with_display_names
from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.bbcode.tokens import RAW_TAGS, RAW_WITHOUT_ATTRIBUTE, Token
from watchbook.sources.nga.parse.entities import unescape, unescape_whole

_COLOURS = (
    "skyblue royalblue blue darkblue orange orangered crimson red firebrick darkred green limegreen seagreen teal"
    " deeppink tomato coral purple indigo burlywood sandybrown sienna chocolate silver gray black white"
)
COLOURS = frozenset(_COLOURS.split())
SIZES = (60, 80, 90, 100, 110, 120, 130, 150, 200, 300)
SIDES = frozenset({"left", "center", "right"})

SIMPLE = {"b": "b", "i": "i", "u": "u", "del": "del", "sup": "sup", "sub": "sub"}
LINKS = frozenset({"url", "uid", "tid", "pid", "stid"})
# Looks that are not kept; what they enclose is.
BARE_INLINE = frozenset({"font", "span", "hip", "item"})
INLINE = frozenset(SIMPLE) | LINKS | BARE_INLINE | {"color", "size"}
_BARE = "randomblock randomblocks crypt fixsize headline verticaltop comment markdown chartradar stripbr album"
BARE_BLOCKS = frozenset(_BARE.split())
BLOCKS = BARE_BLOCKS | {"quote", "collapse", "list", "h", "align", "l", "r", "table", "tr", "td", "lessernuke"}
KNOWN = frozenset(INLINE | BLOCKS | RAW_TAGS | RAW_WITHOUT_ATTRIBUTE)

CLASSES = (
    {f"bb-{colour}" for colour in COLOURS}
    | {f"bb-on-{colour}" for colour in COLOURS}
    | {f"bb-size-{size}" for size in SIZES}
    | {f"bb-{side}" for side in SIDES}
    | {"bb-smiley", "bb-mention", "bb-dice", "bb-punished", "bb-poll", "bb-files", "bb-code", "bb-unseen"}
)

# The cleaner would put it there, and anything it has to change costs more than all the rest of a post.
REL = ' rel="noopener noreferrer nofollow"'

_SPAN = re.compile(r"\b(colspan|rowspan)=?(\d{1,2})\b", re.IGNORECASE | re.ASCII)
_IDS = re.compile(r"-?\d{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shape:
    """HTML before and after the content; `label` is text that the tag itself carries."""

    before: str = ""
    after: str = ""
    label: str = ""
    is_link: bool = False


def shown(text: str) -> str:
    """A piece of source as readers see it, ready to stand in HTML, line feeds as they are."""
    # Quotes need no escape between tags, where this stands, and the cleaner would write them plainly again.
    return escape(with_display_names(unescape(text)), quote=False)


def shown_whole(text: str) -> str:
    """The same of a text that is known to be whole, as all of a post is."""
    if "&" in text or "<" in text or ">" in text:
        return escape(with_display_names(unescape_whole(text)), quote=False)
    return with_display_names(text) if "#" in text else text


def inline_shape(token: Token, addresses: Addresses) -> Shape | None:
    """None when the tag cannot be what it says and has to stay text."""
    name, attribute = token.name, unescape(token.attribute).strip()
    if name in SIMPLE:
        return Shape(f"<{SIMPLE[name]}>", f"</{SIMPLE[name]}>")
    if name == "color":
        return _classed(_colour(attribute.lower()))
    if name == "size":
        return _classed(_size(attribute))
    if name in LINKS:
        return _link(name, attribute, addresses)
    return Shape()


def block_shape(token: Token) -> Shape:
    name, attribute = token.name, token.attribute.strip()
    if name == "quote":
        named = f"<b>{shown(attribute)}</b><br>" if attribute else ""
        return Shape(f"<blockquote>{named}", "</blockquote>", label=attribute)
    if name == "collapse":
        return Shape(f"<details><summary>{shown(attribute) or '…'}</summary>", "</details>", label=attribute)
    if name == "list":
        kind = "ol" if attribute in {"1", "a", "A"} else "ul"
        return Shape(f"<{kind}>", f"</{kind}>")
    if name == "h":
        return Shape("<h4>", "</h4>")
    if name == "lessernuke":
        return Shape('<div class="bb-punished">', "</div>")
    side = {"l": "left", "r": "right"}.get(name, attribute.lower() if name == "align" else "")
    if side in SIDES:
        return Shape(f'<div class="bb-{side}">', "</div>")
    title = f"<b>{shown(attribute)}</b><br>" if name == "album" and attribute else ""
    return Shape(f"<div>{title}", "</div>", label=attribute if name == "album" else "")


def cell_start(token: Token) -> str:
    """`[td33]`, `[td25 top]`, `[td colspan=2 rowspan2 width50]`: only spans are kept."""
    spans = {kind.lower(): number for kind, number in _SPAN.findall(token.attribute)}
    return "<td" + "".join(f' {kind}="{number}"' for kind, number in sorted(spans.items())) + ">"


def post_address(ids: str, addresses: Addresses) -> tuple[str, int, int] | None:
    """`post,topic,page`: topics are older than their posts, so the smaller number is the topic."""
    numbers = [int(part) for part in ids.split(",")[:2] if _IDS.fullmatch(part.strip())]
    if not numbers or min(numbers) < 0:
        return None
    pid, tid = (max(numbers), min(numbers)) if len(numbers) == 2 and min(numbers) else (numbers[0], sum(numbers[1:]))
    return (addresses.post(pid, tid), pid, tid) if pid or tid else None


def _link(name: str, attribute: str, addresses: Addresses) -> Shape | None:
    if name == "url":
        url_given = addresses.link(attribute)
        return Shape(f'<a href="{escape(url_given)}"{REL}>', "</a>", is_link=True) if url_given else None
    if name == "uid" and not _positive(attribute):
        # `[uid]#anony_…[/uid]` and page-local negative ids lead to nobody.
        return Shape()
    return id_link(name, attribute, addresses)


def id_link(name: str, ids: str, addresses: Addresses) -> Shape | None:
    """A link by number; the numbers stay readable in it, so that a page can lead to the archive instead."""
    if name == "pid":
        found = post_address(ids, addresses)
        if not found:
            return None
        url, pid, tid = found
        return Shape(f'<a href="{escape(url)}" data-pid="{pid}" data-tid="{tid}"{REL}>', "</a>", is_link=True)
    if not _positive(ids):
        return None
    number = int(ids)
    made = {"uid": addresses.user, "tid": addresses.topic, "stid": addresses.collection}[name](number)
    data = f' data-tid="{number}"' if name == "tid" else ""
    return Shape(f'<a href="{escape(made)}"{data}{REL}>', "</a>", is_link=True)


def _positive(text: str) -> bool:
    return _IDS.fullmatch(text) is not None and int(text) > 0


def _classed(name: str) -> Shape:
    return Shape(f'<span class="{name}">', "</span>") if name else Shape()


def _colour(name: str) -> str:
    if name.startswith("bg") and name[2:] in COLOURS:
        return f"bb-on-{name[2:]}"
    return f"bb-{name}" if name in COLOURS else ""


def _size(given: str) -> str:
    digits = given.rstrip("%")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 6:
        return ""
    nearest = min(SIZES, key=lambda size: abs(size - int(digits)))
    return f"bb-size-{nearest}"
