"""Words inside a block as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from watchbook.library.parse.nodes import Node, write

MARKS = {"strong": "**", "em": "*", "s": "~~"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~|!])")


def inline(nodes: Iterable[Node]) -> str:
    return "".join(_one(node) for node in nodes)


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
        return f"![{_escaped(node.attributes.get('alt', ''))}]({_target(node, 'src')})"
    # What Markdown has no mark for stays a tag around Markdown.
    opened, closed = write(Node(node.tag, node.attributes)).rsplit("</", 1)
    return f"{opened}{inline(node.children)}</{closed}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


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
    return f"[{inline(node.children)}]({_target(node, 'href')})"


def _target(node: Node, name: str) -> str:
    address = node.attributes.get(name, "").replace("<", "%3C").replace(">", "%3E").replace("\n", "%0A")
    title = node.attributes.get("title")
    quoted = f' "{title.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"' if title else ""
    return f"<{address}>{quoted}"
