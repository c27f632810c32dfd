"""A small tree of cleaned HTML, for turning it into Markdown and for comparing two texts without their layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

VOID = {"br", "hr", "img"}
HOLDERS = {"", "ul", "ol", "table", "thead", "tbody", "tr", "blockquote"}
BLOCKS = {
    "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
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
