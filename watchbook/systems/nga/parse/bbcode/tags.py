"""HTML of each tag. Colours and sizes are classes: pages allow no inline style."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.tokens import RAW_TAGS, RAW_WITHOUT_ATTRIBUTE, Token
from watchbook.systems.nga.parse.values import unescape, unescape_whole, with_display_names

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
    """Return source text escaped for HTML, with its line feeds."""
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
        # `[uid]#anony_…[/uid]` and page-local negative ids lead to no user.
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


FOLDER = "https://img4.nga.cn/ngabbs/post/smile/"


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "data" / "smilies.json").read_text("utf-8"))
    return table


@cache
def _marks() -> dict[str, str]:
    marks: dict[str, str] = json.loads((Path(__file__).parent / "data" / "smiley_marks.json").read_text("utf-8"))
    return marks


def smiley_mark(name: str) -> str | None:
    """Return an emoji for the name of a smiley. Pages load no picture from other hosts."""
    return _marks().get(name)


def smiley_url(name: str) -> str | None:
    """The picture of `set:name`, or of a number in the oldest set; None when it is not known."""
    group, _, own = name.rpartition(":")
    file = _table().get(group or "0", {}).get(own)
    return f"{FOLDER}{file}" if file else None


MOST_DICE, MOST_FACES, LONGEST = 10, 100_000, 200
_TERM = re.compile(r"(?:(\d{0,9})d(\d{1,9})|(\d{1,9}))", re.IGNORECASE | re.ASCII)
# From these ids on, dice in a collapsed block have a seed of their own.
_SEEDED_BLOCKS_FROM_TID, _SEEDED_BLOCKS_FROM_PID = 10_246_184, 200_188_932


class Dice:
    """The dice of one post, in order."""

    def __init__(self, *, author_id: int | None, tid: int, pid: int) -> None:
        # An anonymous author's id is local to one answer: such rolls cannot be made again.
        self._seed = None if author_id is None or author_id <= 0 else author_id + tid + pid
        self._is_seeded_by_block = tid > _SEEDED_BLOCKS_FROM_TID or pid > _SEEDED_BLOCKS_FROM_PID
        self._states: dict[int, int] = {}

    def roll(self, expression: str, block: int = 0) -> str | None:
        """`2d4+100` to `d4(1)+d4(3)+100=104`; `block` is the number of the collapsed block from 1, or 0 outside.

        None when it is no expression or cannot be rolled.
        """
        terms = expression.replace(" ", "").split("+") if len(expression) <= LONGEST else []
        found = [_TERM.fullmatch(term) for term in terms]
        if self._seed is None or not found or not all(found):
            return None
        shown, total = [], 0
        for term in found:
            assert term
            for text, value in self._term(term, block):
                shown.append(text)
                total += value
        return "ERROR" if "ERROR" in shown else f"{'+'.join(shown)}={total}"

    def _term(self, term: re.Match[str], block: int) -> list[tuple[str, int]]:
        if term[3]:
            return [(term[3], int(term[3]))]
        count, faces = int(term[1] or 1), int(term[2])
        if count > MOST_DICE or faces > MOST_FACES or not faces:
            return [("ERROR", 0)]
        rolls = [self._next(block) * faces // 233_280 + 1 for _ in range(count)]
        return [(f"d{faces}({value})", value) for value in rolls]

    def _next(self, block: int) -> int:
        assert self._seed is not None
        start = self._seed + (block if self._is_seeded_by_block else 0)
        self._states[block] = (self._states.get(block, start) * 9301 + 49297) % 233_280
        return self._states[block]


_REPLACED = re.compile(r"\.(\d{1,2})/(.*)", re.DOTALL | re.ASCII)
_UID = re.compile(r"(?:UID)?(\d{1,12})", re.IGNORECASE | re.ASCII)


def image(url: str, alt: str = "", name: str = "") -> str:
    """Pictures stay where they are; the reader's browser asks for them late and says not from where."""
    kind = f' class="{name}"' if name else ""
    return f'<img{kind} src="{escape(url)}" alt="{escape(alt)}" loading="lazy" referrerpolicy="no-referrer">'


def link(url: str, label: str) -> str:
    return f'<a href="{escape(url)}"{REL}>{escape(label)}</a>'


@dataclass
class Media:
    addresses: Addresses
    dice: Dice
    _bases: list[str] = field(default_factory=list)

    def smiley(self, token: Token) -> str | None:
        url = smiley_url(unescape(token.attribute))
        return image(url, unescape(token.text), "bb-smiley") if url else None

    def mention(self, token: Token) -> str | None:
        name = unescape(token.attribute).strip()
        uid = _UID.fullmatch(name)
        if uid and int(uid[1]):
            return link(self.addresses.user(int(uid[1])), f"@{name}")
        return f'<span class="bb-mention">@{shown(name)}</span>' if 2 <= len(name) <= 20 else None

    def raw(self, token: Token, *, block: int, in_link: bool) -> tuple[str, bool] | None:
        """HTML and whether it is a block; None when the tag has to stay text."""
        body = unescape(token.body).strip()
        if token.name == "code":
            code = shown(token.body).strip("\n")
            return f'<pre class="bb-code"><code>{code}</code></pre>', True
        if token.name == "img":
            url = self._media(body)
            return (image(url), False) if url else None
        if token.name == "noimg":
            # Left by a client that shows no pictures: the folder is missing, so that it leads nowhere.
            return f'<span class="bb-unseen">{shown(token.body)}</span>', False
        if token.name == "dice":
            rolled = self.dice.roll(body, block)
            return f'<span class="bb-dice">ROLL : {escape(body)}{f"={rolled}" if rolled else ""}</span>', False
        if token.name == "urlreplace":
            self._bases.append(body)
            return shown(token.body), False
        return self._link(token, body, in_link=in_link)

    def _link(self, token: Token, body: str, *, in_link: bool) -> tuple[str, bool] | None:
        if token.name in {"tid", "stid", "pid"}:
            shape = id_link(token.name, body, self.addresses)
            return (escape(body) if in_link else f"{shape.before}{escape(body)}{shape.after}", False) if shape else None
        url = self.addresses.link(self._based(body)) if token.name == "url" else self._media(body)
        if not url:
            return None
        return (escape(body) if in_link else link(url, body)), False

    def _media(self, body: str) -> str | None:
        return self.addresses.media(self._based(body))

    def _based(self, body: str) -> str:
        """Resolve `.2/picture.jpg` against the second base address of the post."""
        found = _REPLACED.fullmatch(body)
        if not found or not 0 < int(found[1]) <= len(self._bases):
            return body
        return f"{self._bases[int(found[1]) - 1].rstrip('/')}/{found[2]}"
