"""Markdown to HTML and back. Markup that Markdown lacks is written as HTML, which Markdown allows.

`to_markdown` verifies itself: a block that does not convert back to the same HTML is written as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

from watchbook.systems.library.parse.html import clean

VOID = {"br", "hr", "img"}
HOLDERS = {"", "ul", "ol", "table", "thead", "tbody", "tr", "blockquote"}
BLOCKS = {
    "blockquote", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "table",
    "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


@dataclass
class Node:
    """An element, or a text when it has no tag. The root has neither."""

    tag: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    text: str = ""

    @property
    def is_text(self) -> bool:
        return not self.tag

    @property
    def is_block(self) -> bool:
        return self.tag in BLOCKS


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node()
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if len(self.open) > 1 and self.open[-1].tag == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        last = self.open[-1].children[-1] if self.open[-1].children else None
        if last is not None and last.is_text:
            last.text += data
        else:
            self.open[-1].children.append(Node(text=data))


def read(html: str) -> Node:
    """The tree of a text that went through the cleaner: every element in it is closed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


def write(node: Node) -> str:
    if node.is_text:
        return escape(node.text, quote=False) + "".join(write(child) for child in node.children)
    given = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    if node.tag in VOID:
        return f"<{node.tag}{given}>"
    return f"<{node.tag}{given}>{''.join(write(child) for child in node.children)}</{node.tag}>"


def compact(node: Node) -> Node:
    """Without the line breaks that only lay out the markup; inside `pre` nothing is touched but the last one."""
    if node.tag == "pre":
        _drop_last_break(node)
        return node
    kept: list[Node] = []
    for place, child in enumerate(node.children):
        if child.is_text:
            child.text = _trimmed(node, place)
            if not child.text:
                continue
        kept.append(compact(child))
    node.children = kept
    return node


def _trimmed(parent: Node, place: int) -> str:
    text = parent.children[place].text
    before = parent.children[place - 1] if place else None
    after = parent.children[place + 1] if place + 1 < len(parent.children) else None
    if not text.strip() and "\n" in text and (parent.tag in HOLDERS or _is_beside_block(before, after)):
        return ""
    if before is not None and (before.is_block or before.tag == "br"):
        text = text.removeprefix("\n")
    return text.removesuffix("\n") if after is not None and after.is_block else text


def _is_beside_block(before: Node | None, after: Node | None) -> bool:
    return any(node is not None and node.is_block for node in (before, after))


def _drop_last_break(pre: Node) -> None:
    code = pre.children[-1] if pre.children else None
    last = code.children[-1] if code is not None and code.children else code
    if last is not None and last.is_text:
        last.text = last.text.removesuffix("\n")


MARKS = {"strong": "**", "em": "*", "s": "~~"}
# Signs that would be markup where they stand. In snake_case, [1], [[name]], a < b and AT&T they are text.
_SPECIAL = re.compile(
    r"[\\`*]"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=#?\w{1,40};)"
    r"|~(?=~)|(?<=~)~"
    r"|\](?=\()"
    r"|!(?=\[)"
)


def inline(nodes: Iterable[Node]) -> str:
    written = ""
    for node in nodes:
        one = _one(node)
        if written.endswith("!") and one.startswith("["):  # a link, not a picture
            written = f"{written[:-1]}\\!"
        written += one
    return written


def _one(node: Node) -> str:
    if node.is_text:
        return _escaped(node.text)
    if node.tag == "br":
        return "\\\n"
    if node.tag in MARKS and node.children:
        return MARKS[node.tag] + inline(node.children) + MARKS[node.tag]
    if node.tag == "code":
        return _code(node)
    if node.tag == "a":
        return _link(node)
    if node.tag == "img":
        return f"![{_balanced(_escaped(node.attributes.get('alt', '')))}]({_target(node, 'src')})"
    # What Markdown has no mark for stays a tag around Markdown.
    opened, closed = write(Node(node.tag, node.attributes)).rsplit("</", 1)
    return f"{opened}{inline(node.children)}</{closed}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _code(node: Node) -> str:
    if node.attributes or any(not child.is_text for child in node.children):
        return write(node)
    text = "".join(child.text for child in node.children)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else write(node)


def _link(node: Node) -> str:
    if "href" not in node.attributes:
        return write(node)
    return f"[{_balanced(inline(node.children))}]({_target(node, 'href')})"


def _balanced(words: str) -> str:
    """Return the words of a link or picture, in which brackets must come in pairs."""
    return words if words.count("[") == words.count("]") else re.sub(r"(?<!\\)[\[\]]", r"\\\g<0>", words)


_PLAIN_ADDRESS = re.compile(r"[^\s()<>\\\x00-\x20]+")


def _target(node: Node, name: str) -> str:
    address = node.attributes.get(name, "").replace("<", "%3C").replace(">", "%3E").replace("\n", "%0A")
    title = node.attributes.get("title")
    quoted = f' "{title.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"' if title else ""
    return f"{address if _PLAIN_ADDRESS.fullmatch(address) else f'<{address}>'}{quoted}"


LISTS = ("ul", "ol")
# Parts two lists that follow each other; the cleaner takes it out again.
APART = "<!-- -->"


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt  # a second of start-up that only imports and exports need

    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    define = next(rule.fn for rule in found.block.ruler.__rules__ if rule.name == "reference")

    def define_no_footnote(state: Any, first: int, last: int, silent: bool) -> bool:
        """A footnote would be read as the address of a link, and its text be lost; it stays as it is written."""
        start = state.bMarks[first] + state.tShift[first]
        return not state.src.startswith("[^", start) and bool(define(state, first, last, silent))

    found.block.ruler.at("reference", define_no_footnote)
    return found


def to_html(markdown: str) -> str:
    """Cleaned HTML of a Markdown text."""
    rendered = clean(_rendered(markdown))
    try:
        return clean(write(shaped(compact(read(rendered)))))
    except RecursionError:  # hundreds of quotes inside each other: its layout stays as it is
        return rendered


def _rendered(markdown: str) -> str:
    """Return the HTML of the parser, with alignment as an attribute instead of a style."""
    parser = _renderer()
    tokens = parser.parse(markdown)
    for token in [inner for outer in tokens for inner in (outer, *(outer.children or ()))]:
        if token.type in ("html_block", "html_inline"):
            token.content = frames_as_links(token.content)
        style = str(token.attrs.pop("style", "")) if token.type in ("th_open", "td_open") else ""
        if style:
            token.attrs["align"] = style.removeprefix("text-align:")
    return str(parser.renderer.render(tokens, parser.options, {}))


_FRAME = re.compile(
    r"<iframe\b[^<>]{0,2000}?\bsrc=[\"']?(https?://[^\s\"'<>]{1,2000})[^<>]{0,2000}>(?:\s*</iframe>)?", re.I
)


def frames_as_links(html: str) -> str:
    """Return the markup with a link instead of each embedded page of another server: none is loaded, none is lost."""
    return _FRAME.sub(r'<p><a href="\1">\1</a></p>', html)


def shaped(node: Node) -> Node:
    """Turn what Markdown writes with signs into blocks: tasks, callouts, and pictures with captions."""
    node.children = [shaped(child) for child in node.children]
    if node.tag == "ul":
        return _as_tasks(node)
    if node.tag == "blockquote":
        return _as_callout(node)
    if node.tag == "p" and len(node.children) == 1 and node.children[0].tag == "img":
        return _as_figure(node.children[0])
    return node


_BOX = re.compile(r"\[([ xX])\](?: |\Z)")


def _as_tasks(node: Node) -> Node:
    items = [child for child in node.children if child.tag == "li"]
    boxes = [_first_text(item) for item in items]
    if not items or not all(text is not None and _BOX.match(text.text) for text in boxes):
        return node
    for item, text in zip(items, boxes, strict=True):
        assert text is not None
        is_done = text.text[1] in "xX"
        text.text = _BOX.sub("", text.text, count=1)
        item.attributes = {"data-type": "taskItem", "data-checked": "true" if is_done else "false"}
    node.attributes = {"data-type": "taskList"}
    return node


def _first_text(node: Node) -> Node | None:
    first = node.children[0] if node.children else None
    if first is not None and first.tag == "p":
        first = first.children[0] if first.children else None
    return first if first is not None and first.is_text else None


# Kinds of callouts that other programs have, and ours.
CALLOUT_KINDS = {
    **dict.fromkeys(("note", "info", "todo", "abstract", "summary", "tldr", "example", "quote", "cite"), "note"),
    **dict.fromkeys(("tip", "hint", "success", "check", "done"), "tip"),
    **dict.fromkeys(("important",), "important"),
    **dict.fromkeys(("warning", "attention", "question", "help", "faq"), "warning"),
    **dict.fromkeys(("caution", "danger", "error", "bug", "failure", "fail", "missing"), "caution"),
}
_CALLOUT = re.compile(r"\[!([A-Za-z]+)\][+-]?[ \t]*")


def _as_callout(node: Node) -> Node:
    """Turn a quote that begins with [!note] into a callout; a title behind it becomes a strong first line."""
    first = node.children[0] if node.children else None
    text = first.children[0] if first is not None and first.tag == "p" and first.children else None
    found = _CALLOUT.match(text.text) if text is not None and text.is_text else None
    kind = CALLOUT_KINDS.get(found[1].lower()) if found else None
    if first is None or text is None or found is None or kind is None:
        return node
    title, line_break, rest = text.text[found.end() :].partition("\n")
    text.text = rest
    if not rest:
        first.children = first.children[1:]
    above = [Node("p", {}, [Node("strong", {}, [Node(text=title.strip())])])] if title.strip() else []
    if not line_break and title.strip() and first.children:  # the title continues in other marks
        text_after = Node("p", {}, [Node("strong", {}, [Node(text=title), *first.children])])
        above, first.children = [text_after], []
    kept = [child for child in node.children if child is not first or child.children]
    return Node("blockquote", {"data-callout": kind}, [*above, *kept])


def _as_figure(image: Node) -> Node:
    caption = image.attributes.pop("title", "")
    below = [Node("figcaption", {}, [Node(text=caption)])] if caption else []
    return Node("figure", {}, [image, *below])


def to_markdown(html: str) -> str:
    """Markdown that gives this very text again, if there is any."""
    try:
        return _written(html)
    except RecursionError:
        return html.replace("\n", "&#10;") + "\n"


def _written(html: str) -> str:
    blocks = _blocks(read(html))
    written = _joined(blocks, [_block(block) for block in blocks])
    if to_html(written) == html:
        return written
    return _joined(blocks, [_proven(block) for block in blocks])


def _proven(block: Node) -> str:
    markdown = _block(block)
    return markdown if to_html(markdown) == clean(write(block)) else _raw(block)


def _raw(block: Node) -> str:
    # On one line: a blank line would end the HTML.
    return write(block).replace("\n", "&#10;")


def _joined(blocks: list[Node], written: list[str]) -> str:
    pieces: list[str] = []
    for place, text in enumerate(written):
        if place and blocks[place].tag in LISTS and blocks[place - 1].tag in LISTS:
            pieces.append(APART)
        pieces.append(text)
    return "\n\n".join(pieces) + "\n" if pieces else ""


def _blocks(root: Node) -> list[Node]:
    """The blocks of a text; loose words between them count as a paragraph."""
    found: list[Node] = []
    for child in root.children:
        if child.is_block:
            found.append(child)
        elif child.is_text and not child.text.strip():
            continue
        elif found and found[-1].tag == "p" and "loose" in found[-1].attributes:
            found[-1].children.append(child)
        else:
            found.append(Node("p", {"loose": ""}, [child]))
    for block in found:
        block.attributes.pop("loose", None)
    return found


def _block(node: Node) -> str:
    if node.tag == "hr":
        return "---"
    if node.tag == "p":
        return _lines(inline(node.children))
    if node.tag[:1] == "h":
        return "#" * int(node.tag[1]) + " " + inline(node.children).replace("\n", " ")
    if node.tag == "pre":
        return _fence(node)
    if node.tag == "blockquote":
        mark = f"> [!{node.attributes['data-callout'].upper()}]\n" if "data-callout" in node.attributes else ""
        return mark + _indented(_inner(node), "> ", "> ")
    if node.tag == "figure":
        return _figure(node)
    if node.tag in LISTS:
        return _list(node)
    if node.tag == "table":
        return _table(node)
    return _raw(node)


def _figure(node: Node) -> str:
    image, *below = node.children or [Node()]
    words = below[0].children if below else []
    is_plain = image.tag == "img" and len(below) <= 1 and all(word.is_text for word in words)
    if not is_plain or "title" in image.attributes:
        return _raw(node)
    caption = "".join(word.text for word in words)
    return inline([Node("img", {**image.attributes, **({"title": caption} if caption else {})})])


def _inner(node: Node) -> str:
    blocks = _blocks(node)
    return _joined(blocks, [_block(block) for block in blocks]).rstrip("\n")


_AT_START = re.compile(
    r"^([^\S\n]*)"
    r"(#{1,6}(?=\s|\Z)|[-+](?=\s|\Z)|-(?=-*[ \t]*$)|=(?==*[ \t]*$)|[>|]|"
    r"\[(?=[^\^\]\n][^\]\n]*\]:)|\d{1,9}(?=[.)](?:\s|\Z)))",
    re.MULTILINE,
)


def _lines(text: str) -> str:
    """Escape lines of a paragraph that would start a list, heading or rule."""
    return _AT_START.sub(lambda hit: hit[1] + (f"{hit[2]}\\" if hit[2].isdigit() else f"\\{hit[2]}"), text)


def _fence(node: Node) -> str:
    code = node.children[0] if len(node.children) == 1 and node.children[0].tag == "code" else None
    if code is None or any(not child.is_text for child in code.children):
        return _raw(node)
    text = "".join(child.text for child in code.children)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    language = code.attributes.get("class", "").removeprefix("language-")
    return f"{fence}{language}\n{text}\n{fence}"


def _list(node: Node) -> str:
    items = [child for child in node.children if child.tag == "li"]
    is_loose = any(child.tag == "p" for item in items for child in item.children)
    number = int(node.attributes.get("start") or 1)
    written = []
    for place, item in enumerate(items):
        mark = f"{number + place}. " if node.tag == "ol" else "- "
        done = item.attributes.get("data-checked")
        box = "" if done is None else "[x] " if done == "true" else "[ ] "
        body = box + (_inner(item) if is_loose else _tight(item))
        written.append(_indented(body, mark, " " * len(mark)))
    return ("\n\n" if is_loose else "\n").join(written)


def _tight(item: Node) -> str:
    words = [child for child in item.children if not child.is_block]
    below = [child for child in item.children if child.is_block]
    return "\n".join([_lines(inline(words)), *(_block(child) for child in below)])


def _indented(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    marks = [first, *[rest] * (len(lines) - 1)]
    return "\n".join(
        (mark + line).rstrip() if not line else mark + line for mark, line in zip(marks, lines, strict=True)
    )


ALIGNED = {"": "---", "left": ":---", "center": ":---:", "right": "---:"}


def _table(node: Node) -> str:
    rows = [row for part in node.children for row in part.children if row.tag == "tr"]
    cells = [[cell for cell in row.children if cell.tag in ("th", "td")] for row in rows]
    is_plain = rows and all(
        set(cell.attributes) <= {"align"} and not any(child.is_block for child in cell.children)
        for row in cells
        for cell in row
    )
    if not is_plain:
        return _raw(node)
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in cells]
    lines.insert(1, "|" + "".join(f" {ALIGNED[cell.attributes.get('align', '')]} |" for cell in cells[0]))
    return "\n".join(lines)


def _cell(cell: Node) -> str:
    return inline(cell.children).replace("\n", " ").replace("|", "\\|")
