"""Markdown in both directions. What Markdown cannot say is written as HTML, which Markdown allows.

`to_markdown` proves itself: a block that does not come back as it was is written as HTML instead.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from watchbook.library.parse.html import clean
from watchbook.library.parse.inline import inline
from watchbook.library.parse.nodes import Node, compact, read, write

LISTS = ("ul", "ol")
# Parts two lists that follow each other; the cleaner takes it out again.
APART = "<!-- -->"


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt  # a second of start-up that only imports and exports need

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def to_html(markdown: str) -> str:
    """Cleaned HTML of a Markdown text."""
    rendered = clean(_renderer().render(markdown))
    try:
        return clean(write(compact(read(rendered))))
    except RecursionError:  # hundreds of quotes inside each other: its layout stays as it is
        return rendered


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
        return _indented(_inner(node), "> ", "> ")
    if node.tag in LISTS:
        return _list(node)
    if node.tag == "table":
        return _table(node)
    return _raw(node)


def _inner(node: Node) -> str:
    blocks = _blocks(node)
    return _joined(blocks, [_block(block) for block in blocks]).rstrip("\n")


_AT_START = re.compile(r"^(\s*)([-+#=>~]|\d+(?=[.)]))", re.MULTILINE)


def _lines(text: str) -> str:
    """No line of a paragraph begins like a list, a heading or a rule."""
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
        body = _inner(item) if is_loose else _tight(item)
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


def _table(node: Node) -> str:
    rows = [row for part in node.children for row in part.children if row.tag == "tr"]
    cells = [[cell for cell in row.children if cell.tag in ("th", "td")] for row in rows]
    is_plain = rows and all(
        not cell.attributes and not any(child.is_block for child in cell.children) for row in cells for cell in row
    )
    if not is_plain:
        return _raw(node)
    lines = ["| " + " | ".join(inline(cell.children).replace("\n", " ") for cell in row) + " |" for row in cells]
    lines.insert(1, "|" + " --- |" * len(cells[0]))
    return "\n".join(lines)
